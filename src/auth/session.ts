/** People signed in with a browser. */

/** Who is behind a session cookie. */
export interface Visitor {
  user: { id: string; email: string; name: string }
  sessionId: string
  /** Synchroniser token for forms. */
  csrf: string
}

export interface Sessions {
  /** The signed-in person of this request's session cookie; undefined when nobody is. */
  visitor(request: Request): Promise<Visitor | undefined>
  /** Fails with `forbidden_form` unless Origin, Sec-Fetch-Site and the form's csrf field are right. */
  checkForm(request: Request, visitor: Visitor, form: URLSearchParams): void
}
