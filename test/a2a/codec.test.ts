/** Tasks and events in the formats of both versions. */
import { expect, test } from 'vitest'
import { codec03 } from '../../src/a2a/codec-03.ts'
import { codec10 } from '../../src/a2a/codec-10.ts'
import { writeTask } from '../../src/a2a/codec.ts'
import { type Task, type TaskEvent, taskStates } from '../../src/grid/tasks/task.ts'

const at = Date.parse('2026-11-21T09:00:00.000Z')
const timestamp = '2026-11-21T09:00:00.000Z'
const ref = { taskId: 't-1', contextId: 'c-1' }

const task: Task = {
  id: 't-1',
  contextId: 'c-1',
  recipient: 'bob',
  status: { state: 'input-required', message: { messageId: 'q', role: 'agent', parts: [{ text: 'Which?' }] }, at },
  history: [{ messageId: 'm', role: 'user', parts: [{ text: 'hi', mediaType: 'text/plain', filename: '' }] }],
  artifacts: [{
    artifactId: 'a',
    name: '',
    parts: [
      { raw: 'AAAA', filename: 'a.png', mediaType: 'image/png' },
      { url: 'https://x.example/b' },
      { data: { answer: 42 } },
      { data: [1, 2] },
    ],
    extensions: [],
  }],
  mode: 'task',
  generation: 7,
}

test('a task in 0.3 has kinds, and data that is not an object is wrapped', () => {
  expect(json(writeTask(task, codec03))).toEqual({
    kind: 'task',
    id: 't-1',
    contextId: 'c-1',
    status: {
      state: 'input-required',
      message: { kind: 'message', messageId: 'q', role: 'agent', parts: [{ kind: 'text', text: 'Which?' }], ...ref },
      timestamp,
    },
    history: [{ kind: 'message', messageId: 'm', role: 'user', parts: [{ kind: 'text', text: 'hi' }], ...ref }],
    artifacts: [{
      artifactId: 'a',
      parts: [
        { kind: 'file', file: { bytes: 'AAAA', name: 'a.png', mimeType: 'image/png' } },
        { kind: 'file', file: { uri: 'https://x.example/b' } },
        { kind: 'data', data: { answer: 42 } },
        { kind: 'data', data: { value: [1, 2] } },
      ],
    }],
  })
})

test('a task in 1.0 has no kinds or empty members, and never contains its generation number', () => {
  const written = json(writeTask(task, codec10))

  expect(written).toEqual({
    id: 't-1',
    contextId: 'c-1',
    status: {
      state: 'TASK_STATE_INPUT_REQUIRED',
      message: { messageId: 'q', role: 'ROLE_AGENT', parts: [{ text: 'Which?' }], ...ref },
      timestamp,
    },
    history: [{ messageId: 'm', role: 'ROLE_USER', parts: [{ text: 'hi', mediaType: 'text/plain' }], ...ref }],
    artifacts: [{
      artifactId: 'a',
      parts: [
        { raw: 'AAAA', filename: 'a.png', mediaType: 'image/png' },
        { url: 'https://x.example/b' },
        { data: { answer: 42 } },
        { data: [1, 2] },
      ],
    }],
  })
  expect(JSON.stringify(written)).not.toMatch(/"kind"|generation|""|null|\[\]|[a-z]_[a-z]+":/)
})

test('every task state has a spelling in both versions', () => {
  for (const state of taskStates) {
    const changed = { ...task, status: { state, at } }
    expect(json(writeTask(changed, codec03)).status.state).toBe(state)
    expect(json(writeTask(changed, codec10)).status.state).toMatch(/^TASK_STATE_[A-Z_]+$/)
  }
})

test('only in 0.3, a state event says whether it is final', () => {
  const event: TaskEvent = { n: 2, at, type: 'status', status: { state: 'completed', at } }

  expect(json(codec03.writeEvent(task, event, true))).toEqual({
    kind: 'status-update',
    ...ref,
    status: { state: 'completed', timestamp },
    final: true,
  })
  expect(json(codec03.writeEvent(task, event, false))).toMatchObject({ final: false })
  expect(json(codec10.writeEvent(task, event, true))).toEqual({
    statusUpdate: { ...ref, status: { state: 'TASK_STATE_COMPLETED', timestamp } },
  })
})

test('an artifact event in 1.0 omits false values', () => {
  const event: TaskEvent = {
    n: 2,
    at,
    type: 'artifact',
    artifact: { artifactId: 'a', parts: [{ text: 'chunk' }] },
    append: true,
    lastChunk: false,
  }

  expect(json(codec03.writeEvent(task, event, false))).toEqual({
    kind: 'artifact-update',
    ...ref,
    artifact: { artifactId: 'a', parts: [{ kind: 'text', text: 'chunk' }] },
    append: true,
    lastChunk: false,
  })
  expect(json(codec10.writeEvent(task, event, false))).toEqual({
    artifactUpdate: { ...ref, artifact: { artifactId: 'a', parts: [{ text: 'chunk' }] }, append: true },
  })
})

/** Returns the value as a client receives it. */
// deno-lint-ignore no-explicit-any -- tests check it
function json(value: unknown): any {
  return JSON.parse(JSON.stringify(value))
}
