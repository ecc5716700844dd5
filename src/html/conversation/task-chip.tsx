/** @jsxRuntime automatic */
/** @jsxImportSource hono/jsx */
import { Badge, type BadgeKind, LocalTime } from '../components.tsx'
import { Name } from '../bidi.tsx'

/** A task's state with its history, newest last. */
export interface ShownTask {
  state: string
  steps: { state: string; at: number; reason: string | null }[]
}

const kinds: Record<string, BadgeKind> = {
  completed: 'good',
  failed: 'bad',
  rejected: 'bad',
  'input-required': 'warning',
  'auth-required': 'warning',
  working: 'info',
}

export function TaskBadge({ state }: { state: string }) {
  return <Badge kind={kinds[state] ?? 'plain'} hasDot>{state.replace('-', ' ')}</Badge>
}

/** A chip on a task's message that expands to the task's history. */
export function TaskChip({ task: { state, steps } }: { task: ShownTask }) {
  return (
    <details class='state-line task'>
      <summary>
        <span class='unseen'>Task:</span>
        <TaskBadge state={state} />
      </summary>
      <ul>
        {steps.map(({ state, at, reason }) => (
          <li>
            <span>{state.replace('-', ' ')}</span>
            <LocalTime at={at} as='second' />
            {reason !== null && (
              <span class='soft'>
                <Name text={reason} />
              </span>
            )}
          </li>
        ))}
      </ul>
    </details>
  )
}
