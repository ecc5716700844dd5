/**
 * `npm run bench`: requests per second and latencies of the service on each runtime, as ratios to a Hono echo
 * that the same client measured on the same runtime in the same run.
 */
import { parseArgs } from 'node:util'
import { mintKey } from '../src/auth/secrets.ts'
import { Connection } from './bench/connection.ts'
import { type Database, databases, startGrid } from './bench/grid.ts'
import { load } from './bench/load.ts'
import { fsyncMs, machine } from './bench/machine.ts'
import { type Line, printFacts, printLegend, printLine, printTitle } from './bench/report.ts'
import { type Floor, floorRows, gridRows, type Row } from './bench/rows.ts'
import { cleanUp, type Runtime, runtimes, type Server, startScript, temporaryFolder } from './bench/server.ts'

const usage = `npm run bench -- [--runtime node,deno,bun] [--clients 1,32] [--seconds 3] [--database file|libsql]

  --runtime   node (default), deno, bun: one table each
  --clients   how many agents call at the same time, each with its own key and connection
  --seconds   how long each figure is measured, after a warm-up
  --database  file (default): one file with fsync at each commit; libsql: a libsql-server on this machine

TMPDIR chooses the disk of the database.`

interface Options {
  runtimes: Runtime[]
  clients: number[]
  seconds: number
  database: Database
}

async function bench({ runtimes, clients, seconds, database }: Options): Promise<void> {
  printFacts({ machine: machine(), fsync: fsyncMs(temporaryFolder()), runtimes, clients, seconds, database })
  for (const runtime of runtimes) {
    printTitle(runtime)
    const hello = new Map<number, number>()
    const measure = async <Under extends { server: Server }>(row: Row<Under>, under: Under) => {
      for (const count of clients) {
        const line = await measureRow(row, under, count, seconds)
        if (row.name === 'hello') hello.set(count, line.perSecond)
        printLine({ ...line, ratio: line.perSecond / hello.get(count)! }, database)
      }
    }

    const floor = await startFloor(runtime)
    for (const row of floorRows) await measure(row, floor)
    await floor.server.stop()

    const grid = await startGrid(runtime, database, Math.max(...clients))
    for (const row of gridRows) await measure(row, grid)
    await grid.server.stop()
  }
  printLegend([...floorRows, ...gridRows])
}

async function startFloor(runtime: Runtime): Promise<Floor> {
  const { key } = await mintKey('agent_key')
  return { key, server: await startScript(runtime, ['scripts/bench/floor.ts'], { LOG_LEVEL: 'warn' }) }
}

async function measureRow<Under extends { server: Server }>(
  row: Row<Under>,
  under: Under,
  clients: number,
  seconds: number,
): Promise<Omit<Line, 'ratio'>> {
  const connections: Connection[] = []
  const work = row.work(under, clients, () => {
    const connection = new Connection(under.server.port)
    connections.push(connection)
    return connection
  })
  try {
    const measured = await load(work, under.server, seconds)
    const reopens = connections.some(({ opened }) => opened > 10)
    return { row, clients, reopens, ...measured }
  } catch (error) {
    throw new Error(`${row.name}, ${clients} clients: ${(error as Error).message}\n${under.server.lastWords()}`)
  } finally {
    for (const connection of connections) connection.close()
  }
}

function readOptions(): Options {
  const { values } = parseArgs({
    options: {
      runtime: { type: 'string', default: 'node' },
      clients: { type: 'string', default: '1,32' },
      seconds: { type: 'string', default: '3' },
      database: { type: 'string', default: 'file' },
    },
  })
  const options = {
    runtimes: values.runtime.split(',').map((name) => oneOf(runtimes, name)),
    clients: values.clients.split(',').map(Number),
    seconds: Number(values.seconds),
    database: oneOf(databases, values.database),
  }
  if (!options.clients.every((count) => Number.isInteger(count) && count >= 1 && count <= maxClients)) {
    throw new Error(`--clients takes numbers from 1 to ${maxClients}`)
  }
  if (!(options.seconds > 0)) throw new Error('--seconds takes a number above 0')
  return options
}

function oneOf<Name extends string>(names: readonly Name[], text: string): Name {
  const name = names.find((name) => name === text)
  if (!name) throw new Error(`"${text}" is none of ${names.join(', ')}`)
  return name
}

const maxClients = 256

async function main(): Promise<void> {
  let options
  try {
    options = readOptions()
  } catch (error) {
    console.error(`${(error as Error).message}\n\n${usage}`)
    process.exit(2)
  }
  try {
    await bench(options)
  } catch (error) {
    console.error((error as Error).message)
    process.exitCode = 1
  } finally {
    await cleanUp()
  }
}

void main()
