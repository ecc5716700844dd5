/** Where Slack sends the events of a mirrored channel. See docs/operating.md, "Slack". */
import { slackEventsPath } from '../grid/slack/connect.ts'
import { takeSlackEvent } from '../grid/slack/from-slack.ts'
import { apiLimits } from '../lib/http/body.ts'
import type { Handler } from '../request-context.ts'
import type { Store } from '../store/store.ts'

export const slackEventsRoute = slackEventsPath(':id')

/** 200 once a message is on disk; 404 for an unknown channel, whose body is not read, and for what Slack has not signed. */
export function slackEvents(store: Store): Handler {
  return async function slackEvents(c) {
    const request = c.req.raw
    const readBody = () => store.deps.bodies.readText(request, apiLimits)
    const answer = await takeSlackEvent(store, c.req.param('id')!, request.headers, readBody)
    return answer === undefined ? new Response(null, { status: 404 }) : new Response(answer)
  }
}
