/** Exports an account and imports it into another grid. See docs/protocol/archive.md. */
import { requireConfirmed } from '../../auth/actor.ts'
import { GridError } from '../../errors.ts'
import { newId } from '../../lib/id.ts'
import { normaliseEmail } from '../../lib/names.ts'
import { mintKey, mintLinkToken } from '../../lib/secrets.ts'
import { signList, withSignature } from './signed-lines.ts'
import { createSigner, fingerprintOf } from '../../lib/signing.ts'
import { day } from '../../lib/time.ts'
import type { AccountStore } from '../../store/account.ts'
import type { Store } from '../../store/store.ts'
import { archiveLines } from './store/archive.ts'
import { archiveImports } from './store/imports.ts'
import type { ArchivedRow } from './store/validators.ts'
import type { ArchiveManifest } from './store/write-rows.ts'
import { recordActivity } from '../../grid/activity.ts'
import { authorize } from '../../grid/authorize.ts'
import { readSigningKeys } from '../../grid/cards.ts'
import { readerOf } from '../../grid/conversations/may-read.ts'
import { checkRole } from '../../grid/people/team.ts'
import { openAccount } from '../../grid/accounts/accounts.ts'

const invitationLifetimeMs = 30 * day

/** Signs an archive's list of digests. Fails with `unavailable` if the grid cannot sign. */
export async function signArchive(store: Store, list: string) {
  const { current, published } = await readSigningKeys(store)
  const publicKey = published.find(({ kid }) => kid === current?.id)
  if (!current || !publicKey) {
    throw new GridError('unavailable', 'This grid has no key to sign with. Set GRID_KEYS.')
  }
  return await signList({ publicKey, sign: await createSigner(current.privateKey, { kid: current.id }) }, list)
}

/** The fingerprint of the current signing key; undefined if the grid cannot sign. */
export async function exportFingerprint(store: Store): Promise<string | undefined> {
  const { current, published } = await readSigningKeys(store)
  const publicKey = published.find(({ kid }) => kid === current?.id)
  return publicKey && await fingerprintOf(publicKey)
}

/** Records the operator's export in the account's activity log. Fails with `account_not_found` or `not_allowed`. */
export async function noteExport(store: Store, id: string): Promise<void> {
  const account = await openAccount(store, id, { type: 'system', job: 'export-account' })
  if ((await store.global.accounts.byId(id))?.state !== 'claimed') {
    throw new GridError('not_allowed', 'Only an account that has an owner can be exported.')
  }
  await recordActivity(account, { tool: 'export-account', arguments: {}, requestId: null }, () => Promise.resolve())
}

/**
 * Returns the account's archive with the texts that the calling owner may read. Fails with `not_allowed` or
 * `confirmation_required`. Reading the archive can fail with `storage_full`.
 */
export async function exportForOwner(
  store: Store,
  account: AccountStore,
  id: string,
): Promise<AsyncIterable<Uint8Array<ArrayBuffer>>> {
  await authorize(account, 'own')
  const madeAt = account.deps.now()
  requireConfirmed(account.actor, madeAt)
  const { personAlias, channels, peopleReadSince } = await readerOf(account)
  const reader = { agentId: personAlias?.agentId ?? null, since: peopleReadSince, channels: [...channels] }
  const lines = archiveLines(store, { account: id, reader, madeAt })
  return withSignature(lines, (list) => signArchive(store, list))
}

export interface ImportStart {
  manifest: ArchiveManifest
  /** The signed list of digests. */
  list: string
  agents: string[]
  /** The agents' aliases after renaming. */
  aliases: string[]
  /** The providers of the account's guardrails. */
  providers: string[]
}

/**
 * Starts importing an account, or resumes an interrupted import. Resolves to the names that are taken or reserved. If
 * there are any, nothing is written. Fails with `write_conflict` if another archive of the account is partly imported,
 * and with `invalid_input` for content that no grid of this version produces.
 */
export async function beginImport(store: Store, { manifest, list, agents, aliases, providers }: ImportStart) {
  const imports = store.feature(archiveImports)
  const { id } = manifest.account
  const { guardrailChecks, config } = store.deps
  if (!providers.every((provider) => guardrailChecks.has(provider))) {
    throw new GridError(
      'invalid_input',
      'The archive contains a guardrail of a provider that this version does not know.',
    )
  }
  const reserved = aliases.filter((alias) => config.reservedAliases.includes(alias))
  const taken = [
    ...reserved.map((name) => ({ kind: 'alias' as const, name })),
    ...await imports.taken(String(id), aliases, agents),
  ]
  if (taken.length > 0) return taken
  const begun = await imports.begun(String(id))
  if (begun !== undefined && begun !== list) {
    throw new GridError(
      'write_conflict',
      'Another archive of this account is only partly imported. Import that one first.',
    )
  }
  await store.write(imports.begin(manifest, list, store.deps.now()))
  return []
}

/** Stores rows of an import in progress, in one transaction. */
export async function importRows(
  store: Store,
  { account, list, rows }: { account: string; list: string; rows: [record: string, row: ArchivedRow][] },
): Promise<void> {
  const imports = store.feature(archiveImports)
  const at = store.deps.now()
  const statements = rows.flatMap(([record, row]) => imports.row(account, record, withHost(store, record, row), at))
  await store.write([imports.requireBegun(account, list), ...statements])
}

/** Derives a guardrail's host from its configuration, because people consent to sending their texts to this host. */
function withHost({ deps: { guardrailChecks } }: Store, record: string, row: ArchivedRow): ArchivedRow {
  if (record !== 'guardrail') return row
  try {
    const service = guardrailChecks.serviceOf({ provider: String(row.provider), config: String(row.config) })
    if (service === undefined || /^https?:$/.test(service.protocol)) return { ...row, host: service?.host ?? null }
  } catch {
    // The error below replaces this one.
  }
  throw new GridError('invalid_input', 'The archive has a guardrail without the address of its service.')
}

export interface ImportEnd {
  account: string
  list: string
  /** Ids of the agents that are not deleted. */
  agents: string[]
  /** Ids and aliases of the agents that get new keys. */
  withKeys: [id: string, alias: string][]
  renamed: [id: string, alias: string][]
  people: { email: string; role: string; agent_id: string | null }[]
}

/**
 * Makes an imported account visible. Creates new keys for its agents and invitations for its people. Only this call
 * returns the keys and the links. Fails with `write_conflict` if an alias was taken since the import began.
 */
export async function endImport(store: Store, { account: id, list, agents, withKeys, renamed, people }: ImportEnd) {
  const imports = store.feature(archiveImports)
  const account = store.account(id, { type: 'system', job: 'import-account' })
  const at = store.deps.now()
  const keys = withKeys.map(([agentId, alias]) => ({ agentId, alias, ...mintKey('agent_key') }))
  const invitations = people.map(({ email, role, agent_id }) => ({
    ...{ email: normaliseEmail(email, 'email'), role: checkRole(role), agentId: agent_id },
    ...mintLinkToken(),
  }))
  const call = { tool: 'import-account', arguments: { agents: agents.length, people: people.length }, requestId: null }
  await recordActivity(account, call, ({ write, change }) =>
    write([
      imports.requireBegun(id, list),
      ...imports.end(id, agents, renamed),
      ...keys.map(({ agentId, hash, last4 }) =>
        change.keys.add({ id: newId(), kind: 'agent_key', agentId, userId: null, name: 'import', hash, last4 }, at)
      ),
      ...invitations.map(({ token: _, hash, ...person }) =>
        change.team.addInvitation({
          ...{ ...person, id: newId(), tokenHash: hash, invitedBy: null },
          ...{ expiresAt: at + invitationLifetimeMs, mayShowLink: true },
        }, at)
      ),
    ]))
  return {
    keys: keys.map(({ alias, key }) => ({ alias, api_key: key })),
    invitations: invitations.map(({ email, role, token }) => ({
      email,
      role,
      url: `${store.deps.config.appUrl}/invitations/${token}`,
    })),
  }
}
