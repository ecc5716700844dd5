/**
 * `/api/v1/approval-rules`: rules for messages that wait for a person. See docs/protocol/guardrails.md, "Approval
 * rules".
 */
import * as z from 'zod'
import { conditions, maxDeciders, maxExpiryHours } from '../grid/approvals/rule-input.ts'
import { createApprovalRule, listApprovalRules, showApprovalRule } from '../grid/approvals/rules.ts'
import { atMost } from '../lib/input.ts'
import { type Route, route, time } from './route.ts'

const text = atMost(z.string(), 200)
const end = 'an @alias, any, external (agents of other accounts), people, or remote'
const settings = {
  condition: z.enum(conditions).optional(),
  guardrail: text.nullable().optional().describe(
    "For the condition finding: the guardrail's id or name; null for any guardrail",
  ),
  mediaType: text.nullable().optional().describe(
    'For the condition parts: the start of the media type, such as image/',
  ),
  minBytes: z.int().min(0).max(1e12).nullable().optional().describe('For the condition parts'),
  deciders: z.array(text).max(maxDeciders).optional().describe('Members by id or email. Default: the owners'),
  expiresInHours: z.int().min(1).max(maxExpiryHours).optional(),
  enabled: z.boolean().optional(),
  isRisky: z.boolean().optional().describe('Whether approvers must have recently confirmed their identity'),
}
const ends = { name: text, from: text.describe(end), to: text.describe(`${end}, or a #channel`) }
const newRule = z.strictObject({ ...ends, ...settings })

const rule = z.object({
  id: z.string(),
  ...ends,
  condition: z.enum(conditions),
  guardrail: z.string().nullable(),
  mediaType: z.string().nullable(),
  minBytes: z.int().nullable(),
  deciders: z.array(z.object({ id: z.string(), name: z.string() })),
  expiresInHours: z.number(),
  enabled: z.boolean(),
  isRisky: z.boolean(),
  createdAt: time('When the rule was created'),
  updatedAt: time('When the rule was last changed'),
}).meta({ id: 'ApprovalRule' })

const ofAll = { path: '/api/v1/approval-rules', tag: 'Approval rules', caller: 'admin' } as const
export const approvalRuleRoutes: Route[] = [
  route({
    ...ofAll,
    method: 'GET',
    id: 'listApprovalRules',
    summary: "List the account's approval rules in evaluation order",
    answers: { 200: { description: 'Done', json: z.object({ rules: z.array(rule) }) } },
    errors: ['storage_full'],
    recordedAs: 'list_approval_rules',
    serve: async ({ account }) => ({ rules: await listApprovalRules(account) }),
  }),
  route({
    ...ofAll,
    method: 'POST',
    id: 'createApprovalRule',
    summary: 'Create an approval rule',
    body: newRule,
    answers: { 201: { description: 'The rule', json: rule } },
    errors: [
      'invalid_input',
      'agent_not_found',
      'channel_not_found',
      'guardrail_not_found',
      'consent_required',
      'write_conflict',
      'storage_full',
    ],
    recordedAs: 'create_approval_rule',
    serve: ({ account, body }) => createApprovalRule(account, body),
  }),
  route({
    ...ofAll,
    path: '/api/v1/approval-rules/{rule}',
    parameters: { rule: 'id of the approval rule' },
    method: 'GET',
    id: 'getApprovalRule',
    summary: 'Show an approval rule',
    answers: { 200: { description: 'Done', json: rule } },
    errors: ['not_found', 'storage_full'],
    recordedAs: 'list_approval_rules',
    serve: ({ account, params }) => showApprovalRule(account, params.rule),
  }),
]
