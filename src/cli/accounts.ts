import { hashPassword } from '../auth/passwords.ts'
import { createAccount, createAdminKey, deleteAdminKey, openAccount } from '../grid/accounts/accounts.ts'
import { deleteAccount, restoreAccount } from '../grid/accounts/deletion.ts'
import { eraseWords, keptElsewhere } from '../grid/accounts/erase-words.ts'
import { setLimits, usageOf } from '../grid/limits.ts'
import { createLinkFor, signInUrlOfOwner } from '../grid/people/operator.ts'
import { resetSecondFactor } from '../grid/people/second-factor.ts'
import { stopRequiringProvider } from '../grid/people/team.ts'
import { readPage } from '../lib/read-page.ts'
import { isoTime } from '../lib/time.ts'
import { storeCommand, usageError } from './command.ts'
import { ownCommandLine } from './own-command.ts'
import { accountOption, emailOption } from './command.ts'
import { accountCommand } from './store-command.ts'
import { printList, table } from './tables.ts'

export const createAccountCommand = storeCommand({
  name: 'create-account',
  summary: 'Create an account with its owner and a first admin key.',
  beginsGrid: (args) => args.new !== undefined,
  options: {
    name: { placeholder: 'NAME', description: 'name of the account', required: true },
    'owner-email': { placeholder: 'EMAIL', description: 'email address of the owner', required: true },
    password: {
      placeholder: 'PASSWORD',
      description: 'password of the owner; without one, a link is printed that signs the owner in once',
    },
    new: { placeholder: '', description: 'create the database if there is none yet', flag: true },
  },
  async run(store, args) {
    const passwordHash = args.password === undefined ? undefined : await hashPassword(args.password)
    const { name, 'owner-email': ownerEmail } = args
    const input = { name, ownerEmail, passwordHash }
    const call = { tool: 'create-account', arguments: { name, owner_email: ownerEmail }, requestId: null }
    const account = await createAccount(store, input, { type: 'system', job: 'create-account' }, call)
    const { url, worksOnce } = await signInUrlOfOwner(store, account)
    return {
      account_id: account.id,
      user_id: account.userId,
      admin_key: account.adminKey,
      sign_in_url: url,
      works_once: worksOnce,
    }
  },
  print: (account) =>
    table([
      ['Account', account.account_id],
      ['Owner', account.user_id],
      ['Admin key', account.admin_key],
      ['Sign in', account.sign_in_url],
    ]) + '\nThe key is not shown again.' +
    (account.works_once ? ' The link works once, within 24 hours; create-link makes another.' : '') +
    `\nNext: ${ownCommandLine(`create-agent --account ${account.account_id} --alias my-agent`)}`,
})

/** One page of accounts, small enough for terminals and scripts. */
const page = { entries: 1_000, bytes: 1_000_000, chunk: 250 }

/** Lists accounts in order of creation. Provisional accounts were opened by a signup and wait for a claim. */
export const listAccountsCommand = storeCommand({
  name: 'list-accounts',
  summary: 'List the accounts with their owners and the number of agents.',
  options: {
    cursor: {
      placeholder: 'CURSOR',
      description: 'next_cursor of the previous page; a page has up to 1,000 rows',
    },
  },
  async run(store, args) {
    type Account = Awaited<ReturnType<typeof read>>[number]
    const read = store.global.accounts.page
    const source = { read, keyOf: ({ id }: Account) => id, entryOf: (account: Account) => account }
    const { entries, cursor } = await readPage(source, args.cursor, page)
    const accounts = []
    for (const { id, name, state, createdAt } of entries) {
      const { read } = store.account(id, { type: 'system', job: 'list-accounts' })
      const owners = (await read.team.members()).filter(({ role }) => role === 'owner').map(({ email }) => email)
      accounts.push({
        account_id: id,
        name,
        state,
        owners,
        agents: await read.agents.total(),
        created_at: isoTime(createdAt),
      })
    }
    return { accounts, ...(cursor !== undefined && { next_cursor: cursor }) }
  },
  print: ({ accounts, next_cursor }) =>
    printList(
      ['Account', 'State', 'Agents', 'Name', 'Owners'],
      accounts.map((account) => [
        account.account_id,
        account.state,
        account.agents,
        account.name,
        account.owners.join(' ') || '-',
      ]),
      { empty: 'There are no accounts.', next_cursor },
    ),
})

export const createAdminKeyCommand = accountCommand({
  name: 'create-admin-key',
  summary: 'Create another admin key for an account.',
  options: { name: { placeholder: 'NAME', description: 'what the key is for', required: true } },
  input: ({ name }) => ({ name }),
  change: (account, { name }) => createAdminKey(account, name),
  result: ({ id, adminKey }) => ({ key_id: id, admin_key: adminKey }),
  print: (key) => table([['ID', key.key_id], ['Admin key', key.admin_key]]) + '\nThe key is not shown again.',
})

/** Lists live admin keys, without their secrets. See docs/protocol/README.md, "Admin keys". */
export const listAdminKeysCommand = storeCommand({
  name: 'list-admin-keys',
  summary: 'List the live admin keys of an account.',
  options: { account: accountOption },
  async run(store, args) {
    const account = await openAccount(store, args.account, { type: 'system', job: 'list-admin-keys' })
    const keys = await account.read.keys.adminKeys()
    return {
      keys: keys.map(({ id, name, last4, userId, createdAt, lastUsedAt }) => ({
        key_id: id,
        name,
        last4,
        user_id: userId,
        created_at: isoTime(createdAt),
        last_used_at: lastUsedAt === null ? null : isoTime(lastUsedAt),
      })),
    }
  },
  print: ({ keys }) =>
    keys.length === 0
      ? 'The account has no admin keys.'
      : table(keys.map((key) => [key.key_id, `…${key.last4}  ${key.created_at}  ${key.name}`] as const)),
})

export const deleteAdminKeyCommand = accountCommand({
  name: 'delete-admin-key',
  summary: 'Delete an admin key. It stops working at once, and this cannot be undone.',
  options: { key: { placeholder: 'ID', description: 'ID of the key; list-admin-keys shows it', required: true } },
  input: ({ key }) => ({ id: key }),
  change: (account, { id }) => deleteAdminKey(account, id),
  result: ({ id }) => ({ deleted: true, key_id: id }),
  print: (key) => `The admin key ${key.key_id} is deleted.`,
})

/** Creates a sign-in link for a user who cannot sign in. See docs/operating/install.md, "Start". */
export const createLinkCommand = storeCommand({
  name: 'create-link',
  summary: 'Print a link that signs a user in, or lets them choose a password. The link works once, within 24 hours.',
  options: {
    email: emailOption,
    kind: {
      placeholder: 'KIND',
      description: 'sign_in (default), or password: the user chooses a password, which ends all other sessions',
      oneOf: ['sign_in', 'password'],
    },
  },
  async run(store, { email, kind }) {
    const { userId, url } = await createLinkFor(store, email, kind === 'password' ? 'reset' : 'sign_in', 'create-link')
    return { user_id: userId, url }
  },
  print: ({ url }) => url,
})

/** Removes the second factor of a user who has lost it. See docs/people.md, "Signing in". */
export const resetSecondFactorCommand = storeCommand({
  name: 'reset-second-factor',
  summary: 'Remove the passkeys, authenticator app and recovery codes of a user, and end their sessions.',
  options: {
    email: emailOption,
  },
  async run(store, { email }) {
    const { userId } = await resetSecondFactor(store, email, 'reset-second-factor')
    return { reset: true, user_id: userId }
  },
  print: ({ user_id }) =>
    `The user ${user_id} has no second factor now, and is signed out. The activity log of each account shows this.`,
})

/** Restores access when an account's identity provider is down. See docs/people.md, "Single sign-on". */
export const stopRequiringSsoCommand = accountCommand({
  name: 'stop-requiring-sso',
  summary: 'Stop requiring single sign-on from the members of an account.',
  options: {},
  input: () => ({}),
  change: (account) => stopRequiringProvider(account),
  result: () => ({ required: false }),
  print: () => 'Members may now also sign in without it. An owner can require single sign-on again.',
})

export const eraseWordsCommand = accountCommand({
  name: 'erase-words',
  summary: 'Erase everything that an agent or a person of an account wrote. This cannot be undone.',
  options: {
    alias: {
      placeholder: 'ALIAS',
      description: 'the author: an agent, which may be deleted, or a person',
      required: true,
    },
  },
  input: ({ alias }) => ({ alias }),
  change: (account, { alias }) => eraseWords(account, alias),
  result: ({ alias, rows }, account) => ({ alias, rows, kept_elsewhere: keptElsewhere(account) }),
  print: ({ alias, rows, kept_elsewhere: kept }) =>
    [
      Object.keys(rows).length === 0 ? `@${alias} had written nothing.` : `What @${alias} had written is erased.`,
      table(Object.entries(rows).map(([name, n]) => [name, String(n)])),
      ...kept,
    ].filter((line) => line !== '').join('\n'),
})

export const deleteAccountCommand = accountCommand({
  name: 'delete-account',
  summary: 'Delete an account. restore-account can restore it for 7 days; after that, all its data is removed.',
  options: { name: { placeholder: 'NAME', description: 'name of the account, as a confirmation', required: true } },
  input: () => ({}),
  change: (account, _, { name }) => deleteAccount(account, { name }),
  result: ({ removedAt }) => ({ removed_at: isoTime(removedAt) }),
  print: ({ removed_at: at }) => `The account is deleted. Everything in it is removed on ${at.slice(0, 10)}.`,
})

export const restoreAccountCommand = accountCommand({
  name: 'restore-account',
  summary: 'Restore an account that was deleted less than 7 days ago.',
  options: {},
  input: () => ({}),
  change: restoreAccount,
  result: () => ({ restored: true }),
  print: () => 'The account is restored.',
})

/** Parses a limit, which must be in the allowed range. `default` (the setting) becomes null. Fails with `usage`. */
function limitOf(text: string | undefined, option: string, [min, max]: [number, number]): number | null | undefined {
  if (text === undefined) return undefined
  if (text === 'default') return null
  const n = /^\d{1,10}$/.test(text) ? Number(text) : NaN
  if (n >= min && n <= max) return n
  throw usageError(`--${option} is a number from ${min} to ${max}, or default.`)
}

const limit = (description: string) => ({ placeholder: 'N', description: `${description}, or default` })

export const setLimitsCommand = accountCommand({
  name: 'set-limits',
  summary: 'Set limits for one account that override the settings. Without options, show them.',
  options: {
    'messages-per-day': limit("messages that the account's agents may send per day; 0 for any number"),
    'megabytes-per-day': limit('megabytes that these messages may add per day; 0 for any number'),
    agents: limit('agents that the account may have; 0 for any number'),
    'retention-days': limit(
      "how long the account's messages are kept, 1 to 36500; older ones are removed within an hour",
    ),
  },
  input: (args) => {
    const given = {
      messagesPerDay: limitOf(args['messages-per-day'], 'messages-per-day', [0, 1e9]),
      megabytesPerDay: limitOf(args['megabytes-per-day'], 'megabytes-per-day', [0, 1e9]),
      agents: limitOf(args.agents, 'agents', [0, 1e6]),
      retentionDays: limitOf(args['retention-days'], 'retention-days', [1, 36_500]),
    }
    return Object.fromEntries(Object.entries(given).filter(([, value]) => value !== undefined))
  },
  change: setLimits,
  result: ({ messagesPerDay, megabytesPerDay, agents, retentionDays }) => ({
    messages_per_day: messagesPerDay,
    megabytes_per_day: megabytesPerDay,
    agents,
    retention_days: retentionDays,
  }),
  print: (limits) => table(Object.entries(limits).map(([name, n]) => [name.replaceAll('_', ' '), String(n)])),
})

export const usageCommand = storeCommand({
  name: 'usage',
  summary: 'Show how much an account sent on each of the last 31 days (UTC), and its limits.',
  options: { account: accountOption },
  async run(store, { account: id }) {
    const account = await openAccount(store, id, { type: 'system', job: 'usage' })
    const { limits, agents, members, days } = await usageOf(account)
    return {
      messages_per_day: limits.messagesPerDay,
      megabytes_per_day: limits.megabytesPerDay,
      max_agents: limits.agents,
      retention_days: limits.retentionDays,
      agents,
      members,
      days,
    }
  },
  print: ({ days, ...others }) =>
    [
      table(Object.entries(others).map(([name, n]) => [name.replaceAll('_', ' '), String(n)])),
      '',
      printList(['Day', 'Messages', 'Bytes'], days.map(({ day, messages, bytes }) => [day, messages, bytes]), {
        empty: 'The account has sent nothing.',
      }),
    ].join('\n'),
})
