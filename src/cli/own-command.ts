import process from 'node:process'
import { readConfig } from '../config.ts'
import { shellWord } from '../lib/shell-word.ts'
import { ownCommand } from '../lib/version.ts'
import { localPath } from '../store/driver/local-file.ts'

const { databaseUrl: defaultUrl } = readConfig({})

/**
 * A command line for the operator, with `DATABASE_URL` if it is not the default. It never contains a user, password or
 * token.
 */
export function ownCommandLine(words: string, databaseUrl = readConfig(process.env).databaseUrl): string {
  const line = `${ownCommand} ${words}`
  return databaseUrl === defaultUrl ? line : `DATABASE_URL=${shellWord(withoutCredentials(databaseUrl))} ${line}`
}

function withoutCredentials(databaseUrl: string): string {
  if (localPath(databaseUrl) !== undefined) return databaseUrl
  const { protocol, host, pathname, searchParams } = new URL(databaseUrl)
  const tls = searchParams.get('tls')
  return `${protocol}//${host}${pathname === '/' ? '' : pathname}${tls === null ? '' : `?tls=${tls}`}`
}
