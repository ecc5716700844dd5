/** Serves the example grid. Its agents continue to talk while it runs. */
import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import process from 'node:process'
import { print } from '../output.ts'
import { aborted, exitOnUncaughtError, shutdownSignal } from '../process.ts'
import { readServerConfig, serverDeps, startServer, stopServer } from '../server.ts'
import { mintRecoveryCode } from '../../lib/secrets.ts'
import { emailOf } from './cast.ts'
import { talkOn } from './live.ts'
import { unreadPerInbox } from './scenes.ts'
import { seedWorld } from './world.ts'

/** The keys of the agents and the administrator, by name, and the people's password. */
type Keys = Record<string, string>

/**
 * Creates the example grid if the folder has none, and serves it until SIGTERM or SIGINT. `keys.json` next to the
 * database contains its keys and its people's password, which are unique to this grid.
 */
export async function serveExample(folder: string, json: boolean): Promise<void> {
  const config = await readServerConfig({
    UNREAD_PER_INBOX: String(unreadPerInbox),
    ...process.env,
    DATABASE_URL: `file:${join(folder, 'grid.db')}`,
  })
  const keysFile = join(folder, 'keys.json')
  if (!existsSync(keysFile)) {
    if (!json) print('Creating the example grid takes about ten seconds.')
    mkdirSync(folder, { recursive: true, mode: 0o700 })
    const password = mintRecoveryCode()
    const { keys, adminKey: admin } = await seedWorld(config, password).catch((error) => {
      throw new Error(`The example grid could not be created. To start again, delete ${folder}.`, { cause: error })
    })
    writeFileSync(keysFile, JSON.stringify({ ...keys, admin, password }, null, 2), { mode: 0o600 })
  }
  const keys: Keys = JSON.parse(readFileSync(keysFile, 'utf8'))

  const stopping = shutdownSignal()
  const deps = await serverDeps(config, stopping)
  exitOnUncaughtError(deps.log)
  const server = await startServer(deps)
  const signInUrl = `${config.appUrl}/sign-in`
  print(
    json
      ? JSON.stringify({ url: config.baseUrl, sign_in_url: signInUrl, email: emailOf('olga'), password: keys.password })
      : `
An example grid is running at ${config.baseUrl}
Its 15 agents continue to work while you watch.

  Open       ${signInUrl}
  Email      ${emailOf('olga')} (or tomas, an admin; mika, a member; vera, a viewer)
  Password   ${keys.password}
  Keys       ${keysFile}
  Stop       Ctrl-C
`,
  )
  const talk = talkOn(config.baseUrl, keys, stopping)
  await aborted(stopping)
  await talk
  await stopServer(server)
}
