/** The path of a request, used for routing, limits and metrics. */
import { getPath } from 'hono/utils/url'

/** Paths that programs call. Users type these URLs and often add a trailing slash. */
const ofPrograms = /^\/(?:mcp|a2a|api|in|oauth|\.well-known|healthz|readyz|metrics)(?:\/|$)/

/** Whether programs call this path. The consent page is for people. */
export function isForPrograms(path: string): boolean {
  return ofPrograms.test(path) && !/^\/oauth\/authorize(?:\/|$)/.test(path)
}

/** Removes a trailing slash from the paths for programs. `//` and `%2F` do not count as trailing slashes. */
export function requestPath(request: Request): string {
  const path = getPath(request)
  return path.endsWith('/') && !path.endsWith('//') && ofPrograms.test(path) ? path.slice(0, -1) : path
}
