/** `npm run lab -- cluster`: runs three grid processes on one libsql-server behind one URL, until Ctrl-C. */
import process from 'node:process'
import { parseArgs } from 'node:util'
import { processDeps } from '../src/cli/process.ts'
import { readConfig } from '../src/config.ts'
import { createSetUpLink } from '../src/grid/people/people.ts'
import { openStore } from '../src/store/store.ts'
import { type Cluster, startCluster } from './cluster/cluster.ts'
import { type Runtime, runtimes } from './runtime.ts'

const usage = `npm run lab -- cluster [--folder ./data/cluster] [--port 8787] [--instances 3] [--runtime node]

  --folder     for data, keys and logs, which are kept when the cluster stops
  --port       the port of the proxy in front of the instances; default PORT, or 8787
  --instances  1 to 4; a libsql-server stalls with more
  --runtime    node, deno or bun; several, comma-separated, are used in turn`

interface ClusterArguments {
  folder: string
  port: number
  runtimes: Runtime[]
}

function readArguments(): ClusterArguments {
  const { values } = parseArgs({
    options: {
      folder: { type: 'string', default: './data/cluster' },
      port: { type: 'string', default: process.env.PORT || '8787' },
      instances: { type: 'string', default: '3' },
      runtime: { type: 'string', default: 'node' },
    },
  })
  const [port, count] = [Number(values.port), Number(values.instances)]
  if (!Number.isInteger(port) || port < 0 || port > 65_535) {
    throw new Error('--port and PORT take a number from 0 to 65535')
  }
  if (!Number.isInteger(count) || count < 1 || count > 4) throw new Error('--instances takes a number from 1 to 4')
  const names = values.runtime.split(',').map((text) => {
    const name = runtimes.find((name) => name === text)
    if (!name) throw new Error(`"${text}" is not one of ${runtimes.join(', ')}`)
    return name
  })
  return { folder: values.folder, port, runtimes: Array.from({ length: count }, (_, i) => names[i % names.length]) }
}

function greeting({ url, databaseUrl, instances }: Cluster, folder: string, setUpUrl: string | undefined): string {
  return [
    `${instances.length} processes of agent-grid behind ${url}`,
    '',
    ...instances.map(({ name, runtime, pid, port }) => `  ${name}  ${runtime}, process ${pid()}, port ${port}`),
    `  Database    ${databaseUrl}, data and logs in ${folder}`,
    '',
    'Try kill -9 on a process while you use the grid: it is restarted, and no acknowledged message is lost.',
    '',
    'Register an agent:',
    `  curl ${url}/api/v1/agentic-signup -H 'Content-Type: application/json' \\`,
    `    -d '{"owner_email":"you@example.com","alias":"my-agent"}'`,
    ...(setUpUrl === undefined ? [] : [
      'Create the first user and an account on the web: open this link within 24 hours. It works once, and until a process',
      'is started again, which writes a new one into its log:',
      `  ${setUpUrl}`,
    ]),
    'Create an account on the command line. Its agents have no trial limits:',
    `  DATABASE_URL=${databaseUrl} BASE_URL=${url} \\`,
    '    npm run -s grid -- create-account --name Acme --owner-email you@example.com',
    '',
    'Stop with Ctrl-C.',
  ].join('\n')
}

async function main(): Promise<void> {
  let options: ClusterArguments
  try {
    options = readArguments()
  } catch (error) {
    console.error(`${(error as Error).message}\n\n${usage}`)
    process.exit(2)
  }
  const stopped = new Promise<void>((resolve) => {
    for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) process.on(signal, () => resolve())
  })
  try {
    const cluster = await startCluster({
      ...options,
      // Settings from the environment apply to all instances, except settings that the cluster needs.
      env: settingsOf(process.env),
      onEvent: (text) => console.log(text),
      detached: true,
    })
    console.log(greeting(cluster, options.folder, await setUpUrl(cluster)))
    await stopped
    console.log('Stopping')
    await cluster.stop()
  } catch (error) {
    console.error((error as Error).message)
    process.exitCode = 1
  }
  process.exit()
}

/** Creates a set-up link, which replaces the links in the instances' logs. Undefined if there is a user. */
async function setUpUrl({ databaseUrl, url }: Cluster): Promise<string | undefined> {
  const store = await openStore(
    processDeps(readConfig({ DATABASE_URL: databaseUrl, BASE_URL: url, LOG_LEVEL: 'warn' })),
  )
  try {
    return await createSetUpLink(store)
  } finally {
    await store.close()
  }
}

/** Returns the settings that do not depend on the cluster. */
function settingsOf(env: NodeJS.ProcessEnv): Record<string, string | undefined> {
  const names = ['GRID_KEYS', 'SIGNUP_PER_HOUR', 'SIGNUP_JOIN', 'RESERVED_ALIASES', 'ALLOWED_ORIGINS', 'LOG_LEVEL']
  return Object.fromEntries(names.flatMap((name) => env[name] === undefined ? [] : [[name, env[name]]]))
}

void main()
