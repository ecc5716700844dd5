import process from 'node:process'
import { type Config, describeMixedAddresses } from '../config.ts'
import { isStorageFull } from '../errors.ts'
import { findLockedOutUser } from '../grid/people/operator.ts'
import { createSetUpLink } from '../grid/people/people.ts'
import { clientCommand, connectCommand } from '../clients/snippets.ts'
import { localPath } from '../store/driver/local-file.ts'
import type { Store } from '../store/store.ts'
import type { ProcessCommand } from './command.ts'
import { serveCommands } from './command-server.ts'
import { findUnknownSettings } from './doctor/settings.ts'
import { aborted, exitOnUncaughtError, shutdownSignal } from './process.ts'
import { backupOptions, isWithoutBackup } from './migrate.ts'
import { readServerConfig, serverDeps, startServer, stopServer } from './server.ts'
import { print } from './output.ts'
import { ownCommandLine } from './own-command.ts'
import { serverCommands } from './store-commands.ts'
import { table } from './tables.ts'

/** Serves the grid until SIGTERM or SIGINT. See docs/delivery.md, "Stopping". */
export const serve: ProcessCommand = {
  name: 'serve',
  summary: 'Run the grid.',
  options: backupOptions,
  async start(json, args) {
    const config = await readServerConfig(process.env)
    const stopping = shutdownSignal()
    const deps = await serverDeps(config, stopping)
    exitOnUncaughtError(deps.log)
    const mixed = describeMixedAddresses(config)
    if (mixed) deps.log.warn(mixed)
    for (const { found } of findUnknownSettings(process.env)) deps.log.warn(found)

    const server = await startServer(deps, { withoutBackup: isWithoutBackup(args) })
    // With a remote database, commands open the database themselves.
    if (server.store.durability !== 'remote') server.listeners.push(await serveCommands(server.store, serverCommands))
    const setUpUrl = await createSetUpLink(server.store).catch((error) => {
      // With full storage, data can still be read. The error is already logged, and the next start prints the link.
      if (!isStorageFull(error)) throw error
      return undefined
    })
    const lockedOutUser = await findLockedOutUser(server.store)
    const start = { store: server.store, setUpUrl, lockedOutUser }
    print(json ? JSON.stringify(startReport(start)) : greeting(start))

    await aborted(stopping)
    deps.log.info('Stopping')
    await stopServer(server)
    deps.log.info('Stopped')
    return 0
  },
}

interface Start {
  store: Store
  /** The link that creates the first user; undefined if there are users. */
  setUpUrl: string | undefined
  /** The first user's email address, if no user can sign in. */
  lockedOutUser: string | undefined
}

function startReport({ store: { deps: { config }, durability }, setUpUrl, lockedOutUser }: Start) {
  return {
    url: config.baseUrl,
    database: databaseName(config),
    durability,
    set_up_url: setUpUrl,
    locked_out_user: lockedOutUser,
  }
}

function greeting({ store, setUpUrl, lockedOutUser }: Start): string {
  const { config } = store.deps
  const lines = [
    `agent-grid is running at ${config.baseUrl}`,
    '',
    table([
      [localPath(config.databaseUrl) ? 'Data file' : 'Database', databaseName(config)],
      ...(config.appUrl === config.baseUrl ? [] : [['Web app', config.appUrl] as const]),
      ...(store.durability === 'relaxed'
        ? [['Durability', 'relaxed: a power failure may lose the last messages']] as const
        : []),
      ['Stop', 'Ctrl-C'],
    ]),
    '',
    'Connect the coding clients of a machine, with Node:',
    `  ${connectCommand(config)}`,
    '',
    'Register an agent:',
    `  curl ${config.appUrl}/api/v1/agentic-signup -H 'Content-Type: application/json' \\`,
    `    -d '{"owner_email":"you@example.com","alias":"my-agent"}'`,
    '',
    'To see whether the machine of an agent reaches this grid, with Node and no key:',
    `  ${clientCommand(config, `health --url ${config.baseUrl}`)}`,
  ]
  if (setUpUrl !== undefined) {
    lines.push(
      '',
      'No user exists yet. To create the first user and an account, open this link within 24 hours.',
      'It works once:',
      `  ${setUpUrl}`,
    )
  }
  if (lockedOutUser !== undefined) {
    lines.push(
      '',
      'No user can sign in on the web: none has a password or a passkey, and no email server is set. This prints a link',
      'for choosing a password:',
      `  ${ownCommandLine(`create-link --kind password --email ${lockedOutUser}`, config.databaseUrl)}`,
    )
  }
  return lines.join('\n')
}

/** The path of the local file, or the host of a remote database, whose URL may contain a credential. */
function databaseName({ databaseUrl }: Config): string {
  return localPath(databaseUrl) ?? new URL(databaseUrl).host
}
