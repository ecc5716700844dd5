import type { Deps } from '../deps.ts'

export function agentCard(_deps: Deps): (request: Request) => Response {
  return () => Response.json({})
}
