import process from 'node:process'
import { type Config, describeMixedAddresses } from '../config.ts'
import { isStorageFull } from '../errors.ts'
import { createSetUpLink } from '../grid/people/people.ts'
import { localPath } from '../store/driver/local-file.ts'
import type { Store } from '../store/store.ts'
import type { ProcessCommand } from './command.ts'
import { serveCommands } from './command-server.ts'
import { aborted, exitOnUncaughtError, processDeps, readServerConfig, shutdownSignal } from './process.ts'
import { startServer, stopServer } from './server.ts'
import { storeCommands } from './store-commands.ts'
import { table } from './table.ts'

/** Runs until SIGTERM or SIGINT. See docs/delivery.md, "Stopping". */
export const serve: ProcessCommand = {
  name: 'serve',
  summary: 'Run the grid.',
  options: {},
  async start(json) {
    const config = await readServerConfig(process.env)
    const stopping = shutdownSignal()
    const deps = processDeps(config, stopping)
    exitOnUncaughtError(deps.log)
    const mixed = describeMixedAddresses(config)
    if (mixed) deps.log.warn(mixed)

    const server = await startServer(deps)
    // On a remote database, commands open the database themselves.
    if (server.store.durability !== 'remote') server.listeners.push(await serveCommands(server.store, storeCommands))
    const setUpUrl = await createSetUpLink(server.store).catch((error) => {
      // The log has said so. What is there can be read; the next start prints a link.
      if (!isStorageFull(error)) throw error
      return undefined
    })
    console.log(json ? JSON.stringify(startReport(server.store, setUpUrl)) : greeting(server.store, setUpUrl))

    await aborted(stopping)
    deps.log.info('Stopping')
    await stopServer(server)
    deps.log.info('Stopped')
    return 0
  },
}

function startReport({ deps: { config }, durability }: Store, setUpUrl: string | undefined) {
  return { url: config.baseUrl, database: databaseName(config), durability, set_up_url: setUpUrl }
}

function greeting(store: Store, setUpUrl: string | undefined): string {
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
    'Register an agent:',
    `  curl ${config.appUrl}/api/v1/agentic-signup -H 'Content-Type: application/json' \\`,
    `    -d '{"owner_email":"you@example.com","alias":"my-agent"}'`,
  ]
  if (setUpUrl === undefined) return lines.join('\n')
  return [
    ...lines,
    '',
    'This grid has no accounts yet. To create the first one, open this link within 24 hours. It works once:',
    `  ${setUpUrl}`,
  ].join('\n')
}

/** The path of the local file, or the host of a remote database: its URL may contain a credential. */
function databaseName({ databaseUrl }: Config): string {
  return localPath(databaseUrl) ?? new URL(databaseUrl).host
}
