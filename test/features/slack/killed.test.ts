/** A channel mirrored with Slack by a process of each runtime, which is killed (SIGKILL) while events arrive. */
import { join } from 'node:path'
import { setTimeout } from 'node:timers/promises'
import { expect, test } from 'vitest'
import { recount } from '../../../scripts/recount/recount.ts'
import { createChannel } from '../../../src/grid/channels/channels.ts'
import { connectSlack } from '../../../src/features/slack/connect.ts'
import { isLong } from '../../support/long.ts'
import { rows } from '../../support/database.ts'
import { testGrid } from '../../support/grid.ts'
import { type Runtime, runtimes, startServe } from '../../support/process.ts'
import { botToken, signedEvent, signingSecret, startSlack } from '../../support/slack.ts'
import { waitFor } from '../../support/wait-for.ts'
import { callTool } from '../../e2e/client.ts'

const kills: Record<Runtime, number> = isLong ? { node: 20, deno: 10, bun: 10 } : { node: 2, deno: 0, bun: 0 }
const events = 12

test.each(runtimes)(
  'on %s each event is mirrored once, and a post reaches Slack',
  async (runtime) => {
    const slack = await startSlack()
    const grid = await testGrid({ safeFetch: slack.safeFetch })
    const { channel: { id: channel } } = await createChannel(grid.acme.store, { name: 'town', members: ['alice'] })
    const input = { channel, slackChannel: 'C01', token: botToken, signingSecret }
    const { id } = await connectSlack(grid.acme.store, input)
    const moved = "UPDATE agents SET remote_url = ? WHERE account_id = ? AND alias = 'slack-town'"
    await rows(grid, moved, [slack.api, grid.acme.id])
    await grid.store.close()
    const env = { DATABASE_URL: `file:${join(grid.folder, 'grid.db')}`, ALLOW_PRIVATE_TARGETS: '1' }
    const start = () => startServe(runtime, { ...env, OAUTH_CIMD: 'off', LOG_LEVEL: 'error' })

    let server = await start()
    const arrive = async (n: number) => {
      const event = { type: 'message', channel: 'C01', user: 'U1', text: `event ${n}`, ts: `5.${100 + n}` }
      const said = signedEvent(
        { type: 'event_callback', event_id: `Ev${n}`, team_id: 'T0', api_app_id: 'A0', event },
        Date.now(),
      )
      const answer = await fetch(`${server.url}/api/v1/slack/${id}/events`, said)
      return answer.status === 200
    }
    const total = Math.max(events, kills[runtime])
    for (let n = 0; n < total; n++) {
      const lost = n < kills[runtime] ? arrive(n).catch(() => false) : undefined
      if (lost) {
        await setTimeout(n % 12)
        server.signal('SIGKILL')
        await Promise.all([server.ended, lost])
        server = await start()
      }
      // Slack sends an event again if it gets no response in time.
      for (let times = 0; times < 2; times++) await waitFor(`the answer to event ${n}`, () => arrive(n))
    }
    await callTool(server.url, grid.alice.key, 'send_message', { to: '#town', message: 'of the grid' })
    await waitFor('the post in Slack', () => slack.posts.length === 1)

    const { messages } = await callTool(server.url, grid.alice.key, 'read_messages', {})
    const texts = messages.map(({ message }: { message: string }) => message)
    expect(texts).toEqual(Array.from({ length: total }, (_, n) => `Ann: event ${n}`))
    expect(slack.posts).toMatchObject([{ username: '@alice', text: 'of the grid' }])
    await server.stop()
    expect(await recount({ url: env.DATABASE_URL })).toEqual([])
    await slack.close()
  },
  isLong ? 300_000 : undefined,
)
