/** The routes of the service, as requests. */
import type { TestGrid } from './grid.ts'

/** Every route of the service as a request, except those of middleware, which match everything. */
export function routesOf(grid: TestGrid): { method: string; path: string }[] {
  const seen = new Map<string, { method: string; path: string }>()
  for (const { method, path } of grid.app.routes) {
    if (path === '/*' || path === '*') continue
    for (const one of method === 'ALL' ? ['GET', 'POST', 'DELETE', 'OPTIONS'] : [method]) {
      const concrete = path.replace(/:\w+|\*/g, 'x')
      seen.set(`${one} ${concrete}`, { method: one, path: concrete })
    }
  }
  return [...seen.values()]
}
