/** The path by which a request is routed, rate-limited and counted. */
import { getPath } from 'hono/utils/url'

/** Paths that programs call. Users type these URLs, often with a slash at the end. */
const ofPrograms = /^\/(?:mcp|a2a|api|in|oauth|\.well-known|healthz|readyz|metrics)(?:\/|$)/

/** Whether programs call a path. The consent page is for people. */
export function isForPrograms(path: string): boolean {
  return ofPrograms.test(path) && !/^\/oauth\/authorize(?:\/|$)/.test(path)
}

/** Returns the path, without one trailing slash if programs call it. `//` and `%2F` do not count as a slash. */
export function requestPath(request: Request): string {
  const path = getPath(request)
  return path.endsWith('/') && !path.endsWith('//') && ofPrograms.test(path) ? path.slice(0, -1) : path
}
