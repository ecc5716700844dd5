/** @jsxRuntime automatic */
/** @jsxImportSource hono/jsx */
/** Requests between agents that await an answer. */
import {
  type ListedTask,
  listSeenTasks,
  type TaskFilterName,
  taskFilters,
} from '../../grid/conversations/seen-tasks.ts'
import { Name } from '../../html/bidi.tsx'
import { Card, EmptyState, Time } from '../../html/components.tsx'
import { TaskBadge } from '../../html/conversation/task-chip.tsx'
import { appPage } from '../../html/layout.tsx'
import { Pagination, Table } from '../../html/table.tsx'
import { oneLine } from '../../lib/one-line.ts'
import { hiddenWords, listPosition } from '../listing.tsx'
import type { AccountPages, Visit } from '../visit.ts'

const titles: Record<TaskFilterName, string> = {
  open: 'Open',
  input: 'Input required',
  auth: 'Authentication required',
  failed: 'Failed',
  completed: 'Completed',
  canceled: 'Canceled',
}
/** Maximum number of open tasks whose changes are shown immediately. Others are updated within a minute. */
const maxFollowed = 10
const names = Object.keys(taskFilters) as TaskFilterName[]

export function taskPages({ get }: AccountPages): void {
  get('/tasks', list)
}

async function list(visit: Visit) {
  const { account, path, query, requestId } = visit
  const filter = names.find((name) => name === query.get('state'))
  const { page } = listPosition(query)
  const { tasks, hasMore } = await listSeenTasks(account, { filter, page, requestId })
  const now = account.deps.now()
  const open = tasks.filter(({ state }) => (taskFilters.open as readonly string[]).includes(state))
  const link = (page: number) => {
    const position = new URLSearchParams({ ...(filter && { state: filter }), ...(page > 1 && { page: String(page) }) })
    return position.size === 0 ? path('tasks') : `${path('tasks')}?${position}`
  }
  return await appPage(
    visit.frame('tasks'),
    {
      title: 'Tasks',
      lead: `${visit.may('manage') ? 'Tasks between agents' : 'Tasks from you and for you'}, last changed first.`,
      fresh: ['thread', 'state', 'minute'],
      threads: [...new Set(open.flatMap(({ threadId }) => threadId ?? []))].slice(0, maxFollowed),
    },
    <>
      <nav class='filters wraps' aria-label='States'>
        <a href={path('tasks')} aria-current={filter ? undefined : 'page'}>All</a>
        {names.map((name) => (
          <a href={`${path('tasks')}?state=${name}`} aria-current={name === filter ? 'page' : undefined}>
            {titles[name]}
          </a>
        ))}
      </nav>
      <Card isFlush>
        {tasks.length === 0
          ? (
            <EmptyState icon='tasks' title='No tasks here'>
              A task begins when an agent sends a message that expects an answer with progress.
              {!visit.may('manage') && ' Owners and admins see those between agents.'}
            </EmptyState>
          )
          : (
            <Table
              id='tasks'
              caption='Tasks'
              rows={tasks}
              columns={[
                { title: 'Task', cell: (task) => <Title visit={visit} task={task} /> },
                { title: 'State', width: 'time', cell: ({ state }) => <TaskBadge state={state} /> },
                {
                  title: 'Who',
                  cell: ({ client, recipient }) => (
                    <>
                      <Name text={`@${client}`} /> asked <Name text={`@${recipient}`} />
                    </>
                  ),
                },
                { title: 'Began', width: 'short', cell: ({ createdAt }) => <Time at={createdAt} now={now} /> },
                { title: 'Last event', width: 'short', cell: ({ statusAt }) => <Time at={statusAt} now={now} /> },
              ]}
            />
          )}
        {(page > 1 || hasMore) && (
          <Pagination
            label='Pages of tasks'
            where={`Page ${page}`}
            previous={page > 1 ? link(page - 1) : undefined}
            next={hasMore ? link(page + 1) : undefined}
            titles={['Newer', 'Older']}
          />
        )}
      </Card>
    </>,
  )
}

/** Shows the request's first line, and why the task failed or waits. */
function Title({ visit, task: { seq, text, why, isReadable } }: { visit: Visit; task: ListedTask }) {
  if (!isReadable) return <span class='soft'>{hiddenWords}</span>
  const [line = ''] = text.split('\n').filter((line) => line.trim() !== '')
  return (
    <>
      <a href={visit.path('messages', String(seq))}>
        <Name text={oneLine(line).slice(0, 120) || 'Without text'} />
      </a>
      {why !== null && (
        <div class='soft small cut'>
          <Name text={oneLine(why)} />
        </div>
      )}
    </>
  )
}
