import { expect, test } from 'vitest'
import { type Candidate, holdingRule } from '../../../src/grid/send/match-rules.ts'
import type { ActiveApprovalRule } from '../../../src/store/account/approval-rules.ts'

const rule: ActiveApprovalRule = {
  id: 'rule',
  name: 'rule',
  fromKind: 'any',
  fromId: null,
  toKind: 'any',
  toId: null,
  condition: 'always',
  guardrailId: null,
  mediaType: null,
  minBytes: null,
  deciders: [],
  expiresMs: 1,
  enabled: true,
  isRisky: false,
  createdAt: 1,
  updatedAt: 1,
  exemptIds: [],
}
const direct: Candidate = {
  isOwnSender: true,
  fromIds: ['alice'],
  fromType: 'mcp',
  isOwnRecipient: true,
  toId: 'bob',
  toType: 'mcp',
  isChannel: false,
  findings: [],
  parts: [],
}
const post: Candidate = { ...direct, toId: 'ops', toType: undefined, isChannel: true }
const person = { fromIds: ['ann'], fromType: 'human' } as const

/** A message by Ann that Slack delivers. */
const brought = { fromIds: ['ann', 'slack'], fromType: 'a2a' } as const

test.each<[string, Partial<ActiveApprovalRule>, Candidate, boolean]>([
  ['any agent, for what a program brings', {}, { ...direct, ...brought }, true],
  ['people, for what a program brings', { fromKind: 'people' }, { ...direct, ...brought }, false],
  ['a person, for what a program brings', { fromKind: 'agent', fromId: 'ann' }, { ...direct, ...brought }, true],
  ['the program', { fromKind: 'agent', fromId: 'slack' }, { ...direct, ...brought }, true],
  ['any but a person, for what a program brings', { exemptIds: ['ann'] }, { ...direct, ...brought }, true],
  ['any agent', {}, direct, true],
  ['any agent, for a post', {}, post, true],
  ['any agent, for a person of the account', {}, { ...direct, ...person }, false],
  ['any agent, for a person of another account', {}, { ...direct, ...person, isOwnSender: false }, true],
  ['from an agent', { fromKind: 'agent', fromId: 'alice' }, direct, true],
  ['from another agent', { fromKind: 'agent', fromId: 'carol' }, direct, false],
  ['from strangers', { fromKind: 'external' }, { ...direct, isOwnSender: false }, true],
  ['from strangers, for an own agent', { fromKind: 'external' }, direct, false],
  ['from people', { fromKind: 'people' }, { ...direct, ...person }, true],
  ['from people, for an agent', { fromKind: 'people' }, direct, false],
  ['from remote agents', { fromKind: 'remote' }, { ...direct, fromType: 'a2a' }, true],
  ['from remote agents, for a local one', { fromKind: 'remote' }, direct, false],
  ['to an agent', { toKind: 'agent', toId: 'bob' }, direct, true],
  ['to another agent', { toKind: 'agent', toId: 'carol' }, direct, false],
  ['to an agent, for a channel of the same id', { toKind: 'agent', toId: 'ops' }, post, false],
  ['to strangers', { toKind: 'external' }, { ...direct, isOwnRecipient: false }, true],
  ['to strangers, for a post', { toKind: 'external' }, post, false],
  ['to people', { toKind: 'people' }, { ...direct, toType: 'human' }, true],
  ['to people, for a post', { toKind: 'people' }, post, false],
  ['to remote agents', { toKind: 'remote' }, { ...direct, toType: 'a2a' }, true],
  ['to a channel', { toKind: 'channel', toId: 'ops' }, post, true],
  ['to another channel', { toKind: 'channel', toId: 'dev' }, post, false],
  ['findings, without one', { condition: 'finding' }, direct, false],
  ['any finding', { condition: 'finding' }, { ...direct, findings: [{ guardrailId: 'g' }] }, true],
  [
    'a finding of another guardrail',
    { condition: 'finding', guardrailId: 'h' },
    { ...direct, findings: [{ guardrailId: 'g' }] },
    false,
  ],
  ['parts, without one', { condition: 'parts' }, direct, false],
  ['any part', { condition: 'parts' }, { ...direct, parts: [{ mediaType: 'text/html', bytes: 1 }] }, true],
  [
    'parts of a kind',
    { condition: 'parts', mediaType: 'image/' },
    { ...direct, parts: [{ mediaType: 'text/html', bytes: 1 }, { mediaType: 'Image/PNG', bytes: 1 }] },
    true,
  ],
  [
    'a part of the kind that is too small, and a large one of another kind',
    { condition: 'parts', mediaType: 'image/', minBytes: 10 },
    { ...direct, parts: [{ mediaType: 'image/png', bytes: 9 }, { mediaType: 'text/html', bytes: 99 }] },
    false,
  ],
  [
    'a part of exactly that size',
    { condition: 'parts', minBytes: 10 },
    { ...direct, parts: [{ mediaType: 'image/png', bytes: 10 }] },
    true,
  ],
  ['a sender who has not allowed it', { exemptIds: ['alice'] }, direct, false],
  ['a recipient who has not allowed it', { exemptIds: ['bob'] }, direct, false],
])('whether a rule holds a message: %s', (_, changes, candidate, isHeld) => {
  expect(holdingRule([{ ...rule, ...changes }], candidate) !== undefined).toBe(isHeld)
})

test('the first of several matching rules holds a message', () => {
  const rules = [{ ...rule, id: 'other', fromId: 'carol', fromKind: 'agent' as const }, rule, { ...rule, id: 'later' }]

  expect(holdingRule(rules, direct)?.id).toBe('rule')
})
