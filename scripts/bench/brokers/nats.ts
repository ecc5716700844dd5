/** NATS JetStream, with one stream on disk and a consumer per queue. */
import { AckPolicy, connect, RetentionPolicy, StorageType } from 'nats'
import { execFileSync } from 'node:child_process'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { freePort } from '../../../src/lib/free-port.ts'
import { startProgram } from '../server.ts'
import { type Broker, folderOf } from './broker.ts'

const stream = 'bench'

export const nats: Broker = {
  name: 'NATS JetStream',
  pairDescription:
    'publish to a subject of a stream on disk; fetch the next message with a pull consumer, and acknowledge it with a confirmed ack',
  find: () => folderOf('nats-server'),
  async start(folder, programs) {
    const program = join(programs, 'nats-server')
    const port = await freePort()
    const { config, syncs } = configure(program, folder, port)
    const open = () => connect({ port, reconnect: false })
    const isReady = () => open().then((client) => client.close()).then(() => true, () => false)
    const server = await startProgram([program, '-c', config], { port, isReady })
    const admin = await open()
    const manager = await admin.jetstreamManager()
    const version = admin.info?.version
    await manager.streams.add({
      name: stream,
      subjects: [`${stream}.*`],
      storage: StorageType.File,
      retention: RetentionPolicy.Workqueue,
    })
    await admin.close()

    return {
      server,
      durability: syncs
        ? `NATS ${version}, sync_interval always: fsynced before it is acknowledged`
        : `NATS ${version} has no sync_interval: fsynced every 2 minutes, so a power failure loses acknowledged messages`,
      isFsynced: syncs,
      async open(queue) {
        const client = await open()
        const subject = `${stream}.${queue}`
        await (await client.jetstreamManager()).consumers.add(stream, {
          durable_name: queue,
          filter_subject: subject,
          ack_policy: AckPolicy.Explicit,
        })
        const jetstream = client.jetstream()
        const consumer = await jetstream.consumers.get(stream, queue)
        return {
          publish: (text) => jetstream.publish(subject, new TextEncoder().encode(text)),
          async take() {
            const message = await consumer.next({ expires: 1_000 })
            await message?.ackAck()
            return message?.string()
          },
          close: () => client.close(),
        }
      },
    }
  },
}

/** Configures the strictest durability. Versions before 2.10 reject this setting. */
function configure(program: string, folder: string, port: number): { config: string; syncs: boolean } {
  const config = join(folder, 'nats.conf')
  for (const syncs of [true, false]) {
    const sync = syncs ? 'sync_interval: always' : ''
    writeFileSync(config, `host: "127.0.0.1"\nport: ${port}\njetstream { store_dir: "${folder}/data"\n${sync} }\n`)
    try {
      execFileSync(program, ['-t', '-c', config], { stdio: 'ignore' })
      return { config, syncs }
    } catch {
      // Retries without the setting. Any other error appears when the server starts.
    }
  }
  return { config, syncs: false }
}
