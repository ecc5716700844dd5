import process from 'node:process'
import type { Config } from '../config.ts'
import { setUpLink } from '../grid/people/people.ts'
import { localPath } from '../store/driver/local-file.ts'
import type { Store } from '../store/store.ts'
import type { ProcessCommand } from './command.ts'
import { takeCommands } from './control.ts'
import { aborted, endOnFault, processDeps, serverConfig, stopSignal } from './process.ts'
import { startServer, stopServer } from './server.ts'
import { storeCommands } from './store-commands.ts'
import { table } from './table.ts'

/** Run the grid until SIGTERM or SIGINT. Reliability 8. */
export const serve: ProcessCommand = {
  name: 'serve',
  summary: 'Run the grid.',
  options: {},
  async start(json) {
    const config = await serverConfig(process.env)
    const stopping = stopSignal()
    const deps = processDeps(config, stopping)
    endOnFault(deps.log)

    const server = await startServer(deps)
    // A remote database takes the commands itself.
    if (server.store.durability !== 'remote') server.listeners.push(await takeCommands(server.store, storeCommands))
    const setUpUrl = await setUpLink(server.store)
    console.log(json ? JSON.stringify(facts(server.store, setUpUrl)) : greeting(server.store, setUpUrl))

    await aborted(stopping)
    deps.log.info('Stopping')
    await stopServer(server)
    deps.log.info('Stopped')
    return 0
  },
}

function facts({ deps: { config }, durability }: Store, setUpUrl: string | undefined) {
  return { url: config.baseUrl, database: databaseName(config), durability, set_up_url: setUpUrl }
}

function greeting(store: Store, setUpUrl: string | undefined): string {
  const { config } = store.deps
  const lines = [
    `agent-grid is running at ${config.baseUrl}`,
    '',
    table([
      [localPath(config.databaseUrl) ? 'Data file' : 'Database', databaseName(config)],
      ...(config.appUrl === config.baseUrl ? [] : [['Web', config.appUrl] as const]),
      ...(store.durability === 'relaxed'
        ? [['Durability', 'relaxed: a power cut may lose the last messages']] as const
        : []),
      ['Stop', 'Ctrl-C'],
    ]),
    '',
    'Put an agent on the grid:',
    `  curl ${config.appUrl}/api/v1/agentic-signup -H 'Content-Type: application/json' \\`,
    `    -d '{"owner_email":"you@example.com","alias":"my-agent"}'`,
  ]
  if (setUpUrl === undefined) return lines.join('\n')
  return [
    ...lines,
    '',
    'Nobody owns this grid yet. To make the first account, open once within 24 hours:',
    `  ${setUpUrl}`,
  ].join('\n')
}

/** The file, or the host of a remote database: its address may carry a credential. */
function databaseName({ databaseUrl }: Config): string {
  return localPath(databaseUrl) ?? new URL(databaseUrl).host
}
