/** What the pages of conversations read of an account with many messages. */
import { execFile } from 'node:child_process'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { startSqld } from '../../test/support/sqld.ts'
import type { ReadLine } from './conversation-reads.ts'
import type { Scenario } from './scenario.ts'
import { killAtBenchEnd, minimalEnv, onBenchEnd, temporaryFolder } from './server.ts'
import { abbreviate } from './size.ts'

/** The aim for 95 of 100 reads. */
const aimMs = 60

export const conversations: Scenario = {
  rows: [{
    name: 'conversations, MESSAGES',
    measures:
      'A read of a page, in one process and without HTTP, with this number of messages stored beforehand, by 100 agents in 4,951 threads and 10 channels, the newest tenth unread. And the processor time of placing a message in its conversation',
    limit: 'index searches and the texts of 50 messages',
  }],
  async run(context) {
    for (const messages of context.messages) {
      for (const { name, p50Ms, p95Ms, cpuUs } of await measure(context.database, messages)) {
        const isRead = p50Ms > 0
        await context.report({
          name: `${name}, ${abbreviate(messages)}`,
          clients: 1,
          ...(isRead &&
            { p50Ms, remark: `p95 ${p95Ms.toFixed(1)} ms${p95Ms > aimMs ? `, more than ${aimMs} ms` : ''}` }),
          cpuUs,
          floorClients: null,
          usesDatabase: true,
        })
      }
    }
  },
}

/** In a child process, because its processor time is measured. */
async function measure(database: 'file' | 'libsql', messages: number): Promise<ReadLine[]> {
  const env = { ...minimalEnv, DATABASE_URL: await newDatabase(database) }
  const script = ['--import', 'tsx', 'scripts/bench/conversation-reads.ts', String(messages)]
  const running = promisify(execFile)(process.execPath, script, { env })
  killAtBenchEnd(running.child)
  return JSON.parse((await running).stdout)
}

async function newDatabase(database: 'file' | 'libsql'): Promise<string> {
  if (database === 'file') return `file:${join(temporaryFolder(), 'conversations.db')}`
  const sqld = await startSqld()
  onBenchEnd(() => sqld.stop())
  return sqld.url
}
