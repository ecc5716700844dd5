/** Redis with a stream per queue. */
import { Redis } from 'ioredis'
import { join } from 'node:path'
import { freePort } from '../../../src/lib/free-port.ts'
import { startProgram } from '../server.ts'
import { type Broker, folderOf } from './broker.ts'

export const redis: Broker = {
  name: 'Redis',
  pairDescription: 'XADD to a stream; XREADGROUP of one entry and XACK',
  find: () => folderOf('redis-server'),
  async start(folder, programs) {
    const port = await freePort()
    const connect = async () => {
      const client = new Redis({ port, host: '127.0.0.1', lazyConnect: true, retryStrategy: () => null })
      client.on('error', () => {})
      await client.connect()
      return client
    }
    const isReady = () => connect().then((client) => client.quit()).then(() => true, () => false)
    const args = ['--appendonly', 'yes', '--appendfsync', 'always', '--save', '', '--maxclients', '1000']
    const location = ['--port', String(port), '--bind', '127.0.0.1', '--dir', folder]
    const server = await startProgram([join(programs, 'redis-server'), ...location, ...args], { port, isReady })
    const admin = await connect()
    const version = /redis_version:(\S+)/.exec(await admin.info('server'))?.[1]
    await admin.quit()

    return {
      server,
      durability: `Redis ${version}, appendonly yes, appendfsync always: fsynced before it is acknowledged`,
      isFsynced: true,
      async open(queue) {
        const client = await connect()
        await client.xgroup('CREATE', queue, 'readers', '$', 'MKSTREAM')
        return {
          publish: (text) => client.xadd(queue, '*', 'body', text),
          async take() {
            const read = await client.xreadgroup('GROUP', 'readers', 'reader', 'COUNT', 1, 'STREAMS', queue, '>')
            const entry = (read as [string, [string, string[]][]][] | null)?.[0][1][0]
            if (!entry) return undefined
            await client.xack(queue, 'readers', entry[0])
            return entry[1][1]
          },
          close: () => client.quit(),
        }
      },
    }
  },
}
