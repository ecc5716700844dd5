/**
 * `npm run docs`: writes the tables of the documents that are generated from code. A document marks a table's position
 * with `<!-- tools -->` and `<!-- /tools -->`; the names are the keys of `tables`. `test/docs.test.ts` fails while a
 * table differs from the code.
 */
import { readdirSync, readFileSync, writeFileSync } from 'node:fs'
import process from 'node:process'
import * as z from 'zod'
import { commands } from '../src/cli/commands.ts'
import { describeSettings } from '../src/cli/settings.ts'
import { type ErrorCode, errorKinds } from '../src/errors.ts'
import { adminReadTools } from '../src/mcp/admin-read-tools.ts'
import { adminWriteTools } from '../src/mcp/admin-write-tools.ts'
import { agentTools } from '../src/mcp/agent-tools.ts'
import { signupTool } from '../src/mcp/toolset.ts'
import { restRoutes } from '../src/rest/routes.ts'
import { httpStatus } from '../src/wire.ts'

/** The tool properties that a table row shows. */
interface ListedTool {
  name: string
  description: string
  input: z.ZodType
}

const agent = () => toolTable(agentTools)
const admin = () => toolTable([...adminReadTools, ...adminWriteTools])

const tables: Record<string, () => string> = {
  tools: () => `Tools of agents:\n\n${agent()}\n\nTools of admins:\n\n${admin()}`,
  'agent-tools': agent,
  'admin-tools': admin,
  'signup-tool': () => toolTable([signupTool]),
  commands: () => table(['Command', 'What it does'], commands.map(({ name, summary }) => [code(name), summary])),
  settings: () =>
    table(
      ['Variable', 'Default', 'Takes', 'Meaning'],
      describeSettings().map(({ name, fallback, format, description }) => [code(name), fallback, format, description]),
    ),
  rest: () =>
    table(
      ['Call', 'Credential', 'What it does', 'Takes'],
      restRoutes.map(({ method, path, caller = 'none', summary, parameters = {}, query, headers = {}, body }) => [
        code(`${method} ${path}`),
        caller,
        summary,
        lines([...described(parameters), ...fieldsOf(query), ...described(headers), ...fieldsOf(body)]),
      ]),
    ),
  errors: () => {
    const codes = Object.entries(errorKinds) as [ErrorCode, keyof typeof httpStatus][]
    const statuses = [...new Set(Object.values(httpStatus))].sort((a, b) => a - b)
    const coded = (status: number) => codes.filter(([, kind]) => httpStatus[kind] === status)
    return table(
      ['Status', 'Codes'],
      statuses.map((status) => [String(status), coded(status).map(([name]) => code(name)).sort().join(', ')]),
    )
  },
}

/** Returns the documents that may contain tables. */
export function documents(): string[] {
  const inDocs = readdirSync('docs', { recursive: true, encoding: 'utf8' }).map((name) => `docs/${name}`)
  return ['README.md', 'PACKAGE.md', ...inDocs].filter((name) => name.endsWith('.md'))
}

/** A document with its generated tables. Fails with the name of an unknown or unclosed mark. */
export function withTables(text: string): string {
  return text.replace(/^<!-- ([\w-]+) -->$([^]*?^<!-- \/\1 -->$)?/gm, (_, name: string, rest?: string) => {
    if (!(name in tables)) throw new Error(`There is no table "${name}". The tables are ${Object.keys(tables)}.`)
    if (rest === undefined) throw new Error(`<!-- ${name} --> has no <!-- /${name} --> below it.`)
    return `<!-- ${name} -->\n\n${tables[name]()}\n\n<!-- /${name} -->`
  })
}

function toolTable(tools: readonly ListedTool[]): string {
  return table(
    ['Tool', 'What it does', 'Arguments'],
    tools.map(({ name, description, input }) => [code(name), description, lines(fieldsOf(input))]),
  )
}

/** Each field of a schema: the name, with `?` if it is optional, and the description. */
function fieldsOf(schema: z.ZodType | undefined): string[] {
  if (!schema) return []
  const { properties = {}, required = [] } = z.toJSONSchema(schema, { io: 'input' })
  return Object.entries(properties).map(([name, field]) => {
    const { description, enum: values } = field as { description?: string; enum?: string[] }
    const choice = values?.map(code).join(', ')
    const about = [description, choice].filter(Boolean).join('; ')
    return code(required.includes(name) ? name : `${name}?`) + (about && `: ${about}`)
  })
}

function described(fields: Record<string, string>): string[] {
  return Object.entries(fields).map(([name, description]) => `${code(name)}: ${description}`)
}

function table(head: string[], rows: string[][]): string {
  const line = (cells: string[]) => `| ${cells.map((cell) => cell.replaceAll('|', '\\|')).join(' | ')} |`
  return [line(head), line(head.map(() => '---')), ...rows.map(line)].join('\n')
}

function lines(texts: string[]): string {
  return texts.join('<br>')
}

function code(text: string): string {
  return '`' + text + '`'
}

if (process.argv[1]?.endsWith('docs.ts')) {
  for (const name of documents()) {
    const text = readFileSync(name, 'utf8')
    const written = withTables(text)
    if (written !== text) writeFileSync(name, written)
  }
}
