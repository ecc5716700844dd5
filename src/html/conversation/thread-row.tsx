/** @jsxRuntime automatic */
/** @jsxImportSource hono/jsx */
import { Name } from '../bidi.tsx'
import { ageInWords, useZone } from '../components.tsx'
import { Face } from './faces.tsx'

/** A conversation in a list. Times are milliseconds since the epoch. */
export interface ShownThread {
  href: string
  /** Two aliases with `@`, or one channel name with `#`. */
  names: string[]
  /** The conversation's id, if it distinguishes several conversations of the same two agents. */
  label?: string
  lastAt: number
  /** The number of messages. Shown instead of the preview to people who may not read the newest message. */
  messages: number
  /**
   * The newest message in one line. Undefined if the reader may not see it. `from` is omitted if the names already show
   * it.
   */
  preview?: { from?: string; text: string }
  /** The number of messages that the reader has not read. */
  unread: number
  /** Whether there are messages since the reader's last visit. */
  isNew: boolean
  isCurrent: boolean
}

export function ThreadList({ threads, now }: { threads: ShownThread[]; now: number }) {
  return <ul class='threads'>{threads.map((thread) => <ThreadRow thread={thread} now={now} />)}</ul>
}

/** A conversation's names, each bidi-isolated, and its id if it has one. */
export function ThreadNames({ names, label }: Pick<ShownThread, 'names' | 'label'>) {
  return (
    <>
      {names.map((name, n) => (
        <>
          {n > 0 && ' + '}
          <Name text={name} />
        </>
      ))}
      {label && (
        <span class='soft'>
          {' '}
          <Name text={label} />
        </span>
      )}
    </>
  )
}

function ThreadRow({ thread, now }: { thread: ShownThread; now: number }) {
  const { href, names, label, lastAt, messages, preview, unread, isNew, isCurrent } = thread
  return (
    <li>
      <a href={href} aria-current={isCurrent ? 'page' : undefined} class={isNew ? 'new' : undefined}>
        <span class='faces'>
          {names.slice(0, 2).map((name) => <Face name={name.replace('@', '')} />)}
        </span>
        <span class='names'>
          <ThreadNames names={names} label={label} />
        </span>
        <time datetime={`${new Date(lastAt).toISOString().slice(0, 16)}Z`}>{ageInWords(lastAt, now, useZone())}</time>
        <span class='preview'>
          {preview
            ? (
              <>
                {preview.from && (
                  <>
                    <Name text={preview.from} />:{' '}
                  </>
                )}
                <Name text={preview.text} />
              </>
            )
            : messages === 1
            ? '1 message'
            : `${messages.toLocaleString('en')} messages`}
        </span>
        {unread > 0
          ? (
            <span class='count'>
              {unread > 99 ? '99+' : unread}
              <span class='unseen'>unread, to you</span>
            </span>
          )
          : isNew && (
            <span class='dot'>
              <span class='unseen'>new</span>
            </span>
          )}
      </a>
    </li>
  )
}
