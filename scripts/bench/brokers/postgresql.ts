/** PostgreSQL with a table as queue. */
import { execFileSync } from 'node:child_process'
import { chownSync, existsSync, readdirSync } from 'node:fs'
import { join } from 'node:path'
import pg from 'pg'
import { freePort } from '../../../src/lib/free-port.ts'
import { start } from '../server.ts'
import { type Broker, folderOf } from './broker.ts'

/** Where Debian keeps each version. */
const versions = '/usr/lib/postgresql'

const table = `
CREATE TABLE messages (
  id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY, queue text NOT NULL, body text NOT NULL, taken_at timestamptz
);
CREATE INDEX waiting ON messages (queue, id) WHERE taken_at IS NULL`

const publish = { name: 'publish', text: 'INSERT INTO messages (queue, body) VALUES ($1, $2)' }

const take = {
  name: 'take',
  text: `UPDATE messages SET taken_at = now() WHERE id = (
    SELECT id FROM messages WHERE queue = $1 AND taken_at IS NULL ORDER BY id LIMIT 1 FOR UPDATE SKIP LOCKED
  ) RETURNING body`,
}

export const postgresql: Broker = {
  name: 'PostgreSQL',
  pair:
    'INSERT; UPDATE of the oldest row with FOR UPDATE SKIP LOCKED and RETURNING; a commit each, statements prepared',
  find() {
    const folders = existsSync(versions) ? readdirSync(versions).map((version) => join(versions, version, 'bin')) : []
    return folderOf('postgres', folders.reverse())
  },
  async start(folder, found) {
    const port = await freePort()
    const data = join(folder, 'data')
    const user = postgresUser()
    if (user) chownSync(folder, user.uid, user.gid)
    const init = ['-D', data, '-U', 'bench', '-A', 'trust', '-E', 'UTF8', '--locale=C']
    execFileSync(join(found, 'initdb'), init, { ...user, cwd: folder, stdio: ['ignore', 'ignore', 'inherit'] })

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
    const program = [join(found, 'postgres'), '-D', data, '-p', String(port), '-k', folder, ...args]
    const server = await start(program, { port, isReady, user })
    const admin = await connect()
    const version = (await admin.query('SHOW server_version')).rows[0].server_version.split(' ')[0]
    await admin.query(table)
    await admin.end()

    return {
      server,
      durability: `PostgreSQL ${version}, fsync on, synchronous_commit on: fsynced before it is acknowledged`,
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

/** It refuses to run as root; its package brings a user for it. */
function postgresUser(): { uid: number; gid: number } | undefined {
  if (process.getuid?.() !== 0) return undefined
  const id = (flag: string) => Number(execFileSync('id', [flag, 'postgres'], { encoding: 'utf8' }))
  return { uid: id('-u'), gid: id('-g') }
}
