/** All routes of the service, as requests. */
import type { TestGrid } from './grid.ts'

/** Returns each route of the service as a request, without middleware, which matches all paths. */
export function routesOf(grid: TestGrid): { method: string; path: string }[] {
  const seen = new Map<string, { method: string; path: string }>()
  for (const { method, path } of grid.app.routes) {
    if (path === '/*' || path === '*') continue
    for (const one of method === 'ALL' ? ['GET', 'POST', 'DELETE', 'OPTIONS'] : [method]) {
      // A parameter may have a pattern, which may end with a verb: `:id{[^/]+:cancel}`.
      const concrete = path.replace(/(?<=\/):\w+(?:\{\[\^[^\]]+\]\+(:\w+)?\})?|\*/g, (_, verb = '') => `x${verb}`)
      seen.set(`${one} ${concrete}`, { method: one, path: concrete })
    }
  }
  return [...seen.values()]
}
