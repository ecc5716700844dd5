/** Agents of an account on a running server, made with the commands of the program itself. */
import { runCommand } from './process.ts'

/** An account with one agent per alias. Agents of an account have no trial. */
export async function castOf(databaseUrl: string, aliases: string[]) {
  const account = await command(databaseUrl, 'create-account', '--name', 'Acme', '--owner-email', 'ann@acme.example')
  const agents = await Promise.all(aliases.map(async (alias) => {
    const agent = await command(databaseUrl, 'create-agent', '--account', account.account_id, '--alias', alias)
    return { alias: agent.alias, key: agent.api_key }
  }))
  return { accountId: account.account_id, adminKey: account.admin_key, agents }
}

/** Run a command with `--json`; fails when it does. Bun starts fastest. */
export async function command(databaseUrl: string, ...words: string[]): Promise<Record<string, string>> {
  const { code, stdout, stderr } = await runCommand('bun', [...words, '--json'], { DATABASE_URL: databaseUrl })
  if (code !== 0) throw new Error(`${words[0]} ended with ${code}: ${stdout}${stderr}`)
  return JSON.parse(stdout)
}
