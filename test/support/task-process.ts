/**
 * A process in which agents ask each other and answer in many steps, until it kills itself. For
 * `test/e2e/killed-tasks.test.ts`; the database has the agents of a test grid, and is in the environment.
 */
import process from 'node:process'
import { processDeps } from '../../src/cli/process.ts'
import { readConfig } from '../../src/config.ts'
import { readMessages } from '../../src/grid/messaging/read-messages.ts'
import { cancelTask } from '../../src/grid/tasks/tasks.ts'
import { updateTask } from '../../src/grid/tasks/update-task.ts'
import { openStore } from '../../src/store/store.ts'
import { askFor } from './tasks.ts'

interface Agent {
  account: string
  id: string
  alias: string
}

const agents = JSON.parse(process.argv[2]) as Agent[]
const killAfterMs = Number(process.argv[3])

async function main(): Promise<void> {
  const store = await openStore(processDeps(readConfig({ LOG_LEVEL: 'error', ...process.env })))
  const [alice, bob] = agents.map(({ account, id, alias }) =>
    store.account(account, { type: 'agent', agentId: id, alias, credentialId: 'test' })
  )
  let killing: ReturnType<typeof setTimeout> | undefined
  await Promise.all(Array.from({ length: 5 }, async () => {
    for (let n = 0;; n++) {
      const { id: taskId } = await askFor(alice, `question ${n}`)
      const { lease } = await readMessages(bob, {})
      lease?.ack()
      await updateTask(bob, { taskId, text: 'begin', artifact: { id: 'a' } })
      await Promise.all(
        [1, 2, 3].map((chunk) => updateTask(bob, { taskId, text: ` ${chunk}`, artifact: { id: 'a', append: true } })),
      )
      await updateTask(bob, { taskId, state: 'working', text: 'nearly there' })
      if (n % 3 === 0) await cancelTask(alice, taskId)
      else await updateTask(bob, { taskId, text: 'an answer' })
      killing ??= setTimeout(() => process.kill(process.pid, 'SIGKILL'), killAfterMs)
    }
  }))
}

void main()
