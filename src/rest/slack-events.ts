/** Where Slack sends the events of a mirrored channel. See docs/operating.md, "Slack". */
import { slackEventsPath } from '../grid/slack/connect.ts'
import { takeSlackEvent } from '../grid/slack/from-slack.ts'
import { apiLimits } from '../lib/http/body.ts'
import type { Handler } from '../request-context.ts'
import type { Store } from '../store/store.ts'

export const slackEventsRoute = slackEventsPath(':id')

/** 200 once a message is on disk; 404 without a body for an unknown channel, and for what Slack has not signed. */
export function slackEvents(store: Store): Handler {
  return async function slackEvents(c) {
    const body = await store.deps.bodies.readText(c.req.raw, apiLimits)
    const answer = await takeSlackEvent(store, c.req.param('id')!, c.req.raw.headers, body)
    return answer === undefined ? new Response(null, { status: 404 }) : new Response(answer)
  }
}
