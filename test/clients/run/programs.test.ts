/** The outputs are from Claude Code 2.1.197, Codex 0.169.0 and opencode 1.18.33, and are shortened. */
import { expect, test } from 'vitest'
import { programs } from '../../../src/clients/run/programs.ts'

const lines = (...events: unknown[]) => events.map((event) => JSON.stringify(event)).join('\n')

const claudeResult = {
  ...{ type: 'result', subtype: 'success', is_error: false, num_turns: 1, result: 'Done.' },
  ...{ session_id: '11111111-1111-4111-8111-1111111111a1', total_cost_usd: 0.25 },
}

test("the output of Claude Code contains a turn's text, session and cost", () => {
  expect(programs.claude.read(lines(claudeResult))).toEqual({
    text: 'Done.',
    sessionId: claudeResult.session_id,
    usd: 0.25,
  })
  expect(programs.claude.read(lines({ ...claudeResult, is_error: true, subtype: 'error_max_budget_usd', result: '' })))
    .toMatchObject({ failure: 'It ended with error_max_budget_usd.', usd: 0.25 })
  expect(programs.claude.read('')).toMatchObject({ failure: 'It printed no result.' })
})

test("the output of Codex contains a turn's last message", () => {
  const events = [
    { type: 'thread.started', thread_id: '01a205a6-c44e-7ec3-954b-00bafefb68d4' },
    { type: 'item.completed', item: { id: 'item_0', type: 'error', message: 'Model metadata not found.' } },
    { type: 'turn.started' },
    { type: 'item.completed', item: { id: 'item_1', type: 'agent_message', text: 'I look.' } },
    { type: 'item.completed', item: { id: 'item_2', type: 'agent_message', text: 'Done.' } },
  ]
  const usage = { input_tokens: 1, output_tokens: 1 }
  const sessionId = events[0].thread_id

  expect(programs.codex.read(lines(...events, { type: 'turn.completed', usage }))).toEqual({ text: 'Done.', sessionId })
  expect(programs.codex.read(lines(...events, { type: 'turn.failed', error: { message: 'stream disconnected' } })))
    .toMatchObject({ failure: 'stream disconnected' })
  expect(programs.codex.read(lines(...events))).toMatchObject({ failure: 'It printed no end of the turn.' })
})

test("the output of opencode contains the last step's text and the total cost", () => {
  const sessionID = 'ses_dfa593653ffe7j5mF2w7jdnfFd'
  const step = (text: string, cost: number) => [
    { type: 'step_start', sessionID, part: { type: 'step-start' } },
    { type: 'text', sessionID, part: { type: 'text', text } },
    { type: 'step_finish', sessionID, part: { type: 'step-finish', cost } },
  ]
  const error = { type: 'error', sessionID, error: { name: 'UnknownError', data: { message: 'URL is invalid' } } }

  expect(programs.opencode.read(lines(...step('I look.', 0.5), ...step('Done.', 0.25)))).toEqual({
    text: 'Done.',
    sessionId: sessionID,
    usd: 0.75,
  })
  expect(programs.opencode.read(lines(error))).toMatchObject({ failure: 'URL is invalid' })
})

test.each(
  [
    ['claude', 'No conversation found with session ID: 11111111-1111-4111-8111-111111111112'],
    ['codex', 'Error: thread/resume: thread/resume failed: no rollout found for thread id 019aaaaa (code -32600)'],
    ['opencode', '\u001b[91m\u001b[1mError: \u001b[0mSession not found'],
  ] as const,
)('a missing session of %s is distinguished from other failures', (name, output) => {
  expect(programs[name].isSessionGone(output)).toBe(true)
  expect(programs[name].isSessionGone('stream disconnected before completion')).toBe(false)
})

test('each client is started with its session and the additional options', () => {
  const turn = { sessionId: 'S', maxUsd: 2, extra: ['--model', 'm'] }

  expect(programs.claude.words(turn).join(' ')).toBe(
    'claude -p --output-format json --resume S --max-budget-usd 2 --model m',
  )
  expect(programs.codex.words(turn).join(' ')).toBe('codex exec resume --json --skip-git-repo-check --model m S -')
  expect(programs.opencode.words(turn).join(' ')).toBe('opencode run --format json -s S --model m')
  expect(programs.claude.words({ extra: [] })).toContain('--session-id')
  expect(programs.codex.words({ extra: [] }).join(' ')).toBe('codex exec --json --skip-git-repo-check -')
})
