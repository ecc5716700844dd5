/** @jsxRuntime automatic */
/** @jsxImportSource hono/jsx */
import { endDigest } from '../../grid/notifications/digests.ts'
import { SubmitButton } from '../../html/form.tsx'
import { barePage } from '../../html/layout.tsx'
import type { Handler } from '../../request-context.ts'
import type { Store } from '../../store/store.ts'
import type { PublicPages } from '../visit.ts'

/** Where the link in a mail digest leads. Opening it changes nothing: email scanners open links. */
export function unsubscribePage({ get }: PublicPages): void {
  get('/unsubscribe/:token', ({ param }) =>
    barePage(
      { title: 'End these emails' },
      <>
        <h1>End these emails</h1>
        <p>
          You get no more emails about messages that wait in this account. You can ask for them again in its settings.
        </p>
        <form method='post' action={`/unsubscribe/${encodeURIComponent(param('token'))}`}>
          <SubmitButton isWhole>End these emails</SubmitButton>
        </form>
      </>,
    ))
}

/**
 * Ends the mail digest with this token. The token is all that is asked for, because email programs send this request
 * when their user presses a button: they have neither a session nor a page of ours. @see RFC 8058 §3.2
 */
export function unsubscribe(store: Store): Handler {
  return async function unsubscribe(c) {
    await endDigest(store, c.req.param('token')!)
    return await barePage(
      { title: 'The emails have ended' },
      <>
        <h1>The emails have ended</h1>
        <p>You get no more emails about messages that wait in this account.</p>
        <p>
          <a href='/'>To the grid</a>
        </p>
      </>,
    )
  }
}
