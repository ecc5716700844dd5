/** People signed in with a browser. */
import type { AccountStore } from '../store/account.ts'

/** Who is behind a session cookie. */
export interface Visitor {
  user: { id: string; email: string; name: string }
  sessionId: string
  /** What every form of theirs carries in its field `csrf`. */
  csrf: string
}

export interface Sessions {
  /** The signed-in person of a request; undefined when nobody is. */
  visitor(request: Request): Promise<Visitor | undefined>
  /** That a form was sent by a page of ours, and belongs to the session. Fails with `forbidden_form`. */
  checkForm(request: Request, form: URLSearchParams, visitor: Visitor | undefined): void
  /** An account of the person, with their role of now. Fails with `account_not_found`. */
  enter(visitor: Visitor, id: string): AccountStore
}
