/** PostgreSQL as a broker, with a table as the queue. */
import { execFileSync } from 'node:child_process'
import { chownSync, existsSync, readdirSync } from 'node:fs'
import { join } from 'node:path'
import pg from 'pg'
import { freePort } from '../../../src/lib/free-port.ts'
import { hashForLookup, mintKey } from '../../../src/lib/secrets.ts'
import { startProgram, startScript } from '../server.ts'
import { type Broker, folderOf, openHttpQueue } from './broker.ts'
import { publish, tables, take } from './postgresql-queue.ts'

/** Debian installs each version into a subfolder of this folder. */
const versions = '/usr/lib/postgresql'

export const postgresql: Broker = {
  name: 'PostgreSQL',
  pairDescription:
    'INSERT; UPDATE of the oldest row with FOR UPDATE SKIP LOCKED and RETURNING; one commit each, prepared statements',
  find() {
    const folders = existsSync(versions) ? readdirSync(versions).map((version) => join(versions, version, 'bin')) : []
    return folderOf('postgres', folders.reverse())
  },
  async start(folder, programs) {
    const { server, version, connect } = await startPostgresql(folder, programs)
    return {
      server,
      durability: durabilityOf(version),
      isFsynced: true,
      async open(queue) {
        const client = await connect()
        return {
          publish: (text) => client.query({ ...publish, values: [queue, text] }),
          take: async () => (await client.query({ ...take, values: [queue] })).rows[0]?.body,
          close: () => client.end(),
        }
      },
    }
  },
}

/** The same queue as an HTTP service. A team that does not use the grid would need at least such a service. */
export const postgresqlBehindHttp: Broker = {
  name: 'PostgreSQL behind HTTP',
  pairDescription: 'The same two statements behind a Hono service on Node that looks up the key of the caller',
  speaksHttp: true,
  find: postgresql.find,
  async start(folder, programs) {
    const database = await startPostgresql(folder, programs)
    const { host, port, user, database: name } = database.login
    const env = { PGHOST: host, PGPORT: String(port), PGUSER: user, PGDATABASE: name }
    const service = await startScript('node', ['scripts/bench/brokers/postgresql-service.ts'], env, '/readyz')
    const admin = new pg.Pool({ ...database.login, max: 1 })
    return {
      server: {
        ...service,
        cpuMs: () => service.cpuMs() + database.server.cpuMs(),
        async stop() {
          await admin.end()
          await service.stop()
          await database.server.stop()
        },
      },
      durability: `${durabilityOf(database.version)}; with a service that has a pool of connections`,
      isFsynced: true,
      async open(queue) {
        const { key } = mintKey('agent_key')
        await admin.query('INSERT INTO keys (hash, queue) VALUES ($1, $2)', [hashForLookup(key), queue])
        return openHttpQueue(service.port, {}, { Authorization: `Bearer ${key}` })
      },
    }
  },
}

/** Starts a new database in an empty folder and creates the tables. */
async function startPostgresql(folder: string, programs: string) {
  const port = await freePort()
  const data = join(folder, 'data')
  const user = postgresUser()
  if (user) chownSync(folder, user.uid, user.gid)
  const init = ['-D', data, '-U', 'bench', '-A', 'trust', '-E', 'UTF8', '--locale=C']
  execFileSync(join(programs, 'initdb'), init, { ...user, cwd: folder, stdio: ['ignore', 'ignore', 'inherit'] })

  const login = { host: '127.0.0.1', port, user: 'bench', database: 'postgres' }
  const connect = async () => {
    const client = new pg.Client(login)
    client.on('error', () => {})
    await client.connect()
    return client
  }
  const isReady = () => connect().then((client) => client.end()).then(() => true, () => false)
  const settings = { max_connections: 300, fsync: 'on', synchronous_commit: 'on', listen_addresses: '127.0.0.1' }
  const args = Object.entries(settings).flatMap(([name, value]) => ['-c', `${name}=${value}`])
  const program = [join(programs, 'postgres'), '-D', data, '-p', String(port), '-k', folder, ...args]
  const server = await startProgram(program, { port, isReady, user })
  const admin = await connect()
  const version: string = (await admin.query('SHOW server_version')).rows[0].server_version.split(' ')[0]
  await admin.query(tables)
  await admin.end()
  return { server, login, version, connect }
}

function durabilityOf(version: string): string {
  return `PostgreSQL ${version}, fsync on, synchronous_commit on: fsynced before it is acknowledged`
}

/** The user to run as. PostgreSQL refuses to run as root, so its package creates a user. */
function postgresUser(): { uid: number; gid: number } | undefined {
  if (process.getuid?.() !== 0) return undefined
  const id = (flag: string) => Number(execFileSync('id', [flag, 'postgres'], { encoding: 'utf8' }))
  return { uid: id('-u'), gid: id('-g') }
}
