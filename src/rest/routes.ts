/** All REST routes. The OpenAPI document and the tests also use this list. */
import * as z from 'zod'
import { staticAnswer } from '../lib/http/static-answer.ts'
import { agentKeyRoutes } from './agent-keys.ts'
import { agentRoutes } from './agents.ts'
import { approvalRuleRoutes } from './approval-rules.ts'
import { channelRoute } from './channels.ts'
import { guardrailRoutes } from './guardrails.ts'
import { inboxRoutes } from './inbox.ts'
import { messageRoutes } from './messages.ts'
import { openApiDocument } from './openapi.ts'
import { partRoutes } from './parts.ts'
import { reservationRoutes } from './reservations.ts'
import type { Route } from './route.ts'
import { signupRoute } from './signup.ts'
import { usageRoute } from './usage.ts'
import { wakeStreamRoute } from './wake-stream.ts'

const openApiRoute: Route = {
  method: 'GET',
  path: '/api/v1/openapi.json',
  id: 'getOpenApi',
  tag: 'About',
  summary: 'This document',
  isOpenToPages: true,
  answers: { 200: { description: 'Done', json: z.record(z.string(), z.unknown()) } },
  open: ({ deps: { config } }) => {
    const answer = staticAnswer(() => Response.json(openApiDocument(restRoutes, [config.baseUrl, config.appUrl])))
    return (c) => answer(c.req.raw)
  },
}

export const restRoutes: readonly Route[] = [
  signupRoute,
  ...inboxRoutes,
  ...messageRoutes,
  ...partRoutes,
  wakeStreamRoute,
  ...guardrailRoutes,
  ...approvalRuleRoutes,
  ...agentKeyRoutes,
  ...agentRoutes,
  channelRoute,
  ...reservationRoutes,
  usageRoute,
  openApiRoute,
]
