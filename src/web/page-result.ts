/** What a page answers, and the response that it becomes. */

/**
 * The result of a page or an action: a response, or a redirect with an optional `Set-Cookie`. `withForm` sends the form
 * along (307).
 */
export type PageResult = Response | { redirectTo: string; cookie?: string; withForm?: boolean }
/** Shows a page, or runs an action. */
export type PageHandler<V> = (visit: V) => Promise<PageResult> | PageResult

/** The response of a page: itself, or a redirect. */
export function asResponse(result: PageResult): Response {
  if (result instanceof Response) return result
  const status = result.withForm ? 307 : 303
  const response = new Response(null, { status, headers: { Location: result.redirectTo } })
  return withCookie(response, result.cookie)
}

/** The response with one more `Set-Cookie`. */
export function withCookie(response: Response, cookie: string | undefined): Response {
  if (cookie !== undefined) response.headers.append('Set-Cookie', cookie)
  return response
}
