/** The skills that agents declare. Agents of an account share skills by name. */
import { callingAgent, requireAdmin } from '../../auth/actor.ts'
import { GridError, invalidInput } from '../../errors.ts'
import { newId } from '../../lib/id.ts'
import { withoutInvisible } from '../../lib/invisible-text.ts'
import { isPlainName } from '../../lib/names.ts'
import { readPage } from '../../lib/read-page.ts'
import { hasAtMost, wellFormed } from '../../lib/text.ts'
import type { AccountStore } from '../../store/account.ts'
import type { Agent } from '../../store/account/agents.ts'
import type { Statement } from '../../store/sql.ts'
import { agentPage } from '../agent-page.ts'
import { retryOnConflict } from '../retry-on-conflict.ts'
import { findAgent } from './find-agent.ts'

export const maxSkills = 200
const maxNameLength = 64
const maxDescriptionLength = 500
/** Maximum number of skills of an account. Limited because each of its agents can list them all. */
const maxAccountSkills = 1_000

export interface SkillInput {
  name: string
  description?: string
}

/** Returns a page of the skills of the account or of one of its agents, sorted by name. The page begins at `cursor`. */
export async function listSkills(
  account: AccountStore,
  input: { agent?: string; cursor?: string },
): Promise<{ skills: Required<SkillInput>[]; cursor?: string }> {
  const agent = input.agent === undefined ? undefined : await findAgent(account, input.agent)
  const { skills } = account.read
  const source = {
    read: (after: string, limit: number) =>
      agent ? skills.pageOfAgent(agent.id, after, limit) : skills.page(after, limit),
    keyOf: ({ name }: Skill) => name,
    entryOf: ({ name, description }: Skill) => ({ name: withoutInvisible(name), description }),
  }
  const { entries, cursor } = await readPage(source, input.cursor, agentPage)
  return { skills: entries, cursor }
}

/** Replaces all skills of the calling agent. Missing skills are created; existing ones keep their description. */
export async function setSkills(
  account: AccountStore,
  input: { skills: SkillInput[] },
): Promise<{ assigned: string[]; created: string[]; sanitized?: true }> {
  const { agentId } = callingAgent(account.actor)
  const skills = checkSkills(input.skills)
  const rows = await retryOnConflict(async () => {
    await refuseTooManySkills(account, skills)
    return await account.write([
      account.change.skills.clear(agentId),
      ...attachSkills(account, agentId, skills),
    ])
  })
  const created = rows.flat().filter((row) => 'name' in row).map((row) => String(row.name))
  return { assigned: skills.map((skill) => skill.name), created, ...(areCleaned(input.skills) && sanitized) }
}

/** Replaces all skills of an agent (id or alias), as an admin. Fails with `agent_not_found` or `invalid_input`. */
export async function setAgentSkills(
  account: AccountStore,
  input: { agent: string; skills: SkillInput[] },
): Promise<{ agent: Agent; skills: string[]; sanitized?: true }> {
  requireAdmin(account.actor)
  const skills = checkSkills(input.skills)
  return await retryOnConflict(async () => {
    const agent = await findAgent(account, input.agent)
    await refuseTooManySkills(account, skills)
    await account.write([
      account.change.agents.requireLive([agent.id]),
      account.change.skills.clear(agent.id),
      ...attachSkills(account, agent.id, skills),
    ])
    return { agent, skills: skills.map((skill) => skill.name), ...(areCleaned(input.skills) && sanitized) }
  })
}

interface Skill {
  id: string
  name: string
  description: string
}

export async function createSkill(account: AccountStore, input: SkillInput): Promise<Skill> {
  requireAdmin(account.actor)
  const skill = { id: newId(), ...checkSkill(input, 'name', 'description') }
  return await retryOnConflict(async () => {
    const named = await account.read.skills.byName(skill.name)
    // The skill exists if an earlier attempt succeeded and its response was lost.
    if (named?.id === skill.id) return skill
    if (named) throw skillTaken(skill.name)
    await refuseTooManySkills(account, [skill])
    await account.write([account.change.skills.add(skill, account.deps.now()), requireSkillLimit(account)])
    return skill
  })
}

export async function updateSkill(account: AccountStore, id: string, input: SkillInput): Promise<Skill> {
  requireAdmin(account.actor)
  const skill = { id, ...checkSkill(input, 'name', 'description') }
  return await retryOnConflict(async () => {
    const before = await findSkill(account, id)
    const named = await account.read.skills.byName(skill.name)
    if (named && named.id !== id) throw skillTaken(skill.name)
    const { skills } = account.change
    account.changed(before, skill)
    await account.write([skills.requireExists(id), skills.update(skill)])
    return skill
  })
}

export async function deleteSkill(account: AccountStore, id: string): Promise<{ id: string }> {
  requireAdmin(account.actor)
  return await retryOnConflict(async () => {
    await findSkill(account, id)
    const { skills } = account.change
    await account.write([skills.requireExists(id), skills.detach(id), skills.remove(id)])
    return { id }
  })
}

async function findSkill(account: AccountStore, id: string): Promise<Skill> {
  const skill = await account.read.skills.byId(id)
  if (!skill) throw new GridError('skill_not_found', 'There is no such skill, or it was deleted.')
  return skill
}

function skillTaken(name: string): GridError {
  return new GridError('skill_taken', `The account has a skill ${name}. Choose another name.`, { field: 'name' })
}

/** Returns statements that create missing skills and attach all, if the agent is live and the account has room. */
export function attachSkills(account: AccountStore, agentId: string, skills: Required<SkillInput>[]): Statement[] {
  if (skills.length === 0) return []
  const at = account.deps.now()
  const { addMissing, attach } = account.change.skills
  return [
    ...skills.flatMap(({ name, description }) => [
      addMissing(agentId, { id: newId(), name, description }, at),
      attach(agentId, name),
    ]),
    requireSkillLimit(account),
  ]
}

/** Fails with `invalid_input` if the account would get too many skills. Resolves to the number of new skills. */
export async function refuseTooManySkills(
  account: AccountStore,
  skills: Pick<SkillInput, 'name'>[],
  { advice, field }: { advice: string; field?: string } = { advice: 'Use existing skills.', field: 'skills' },
): Promise<number> {
  if (skills.length === 0) return 0
  const known = new Set((await account.read.skills.list()).map((skill) => skill.name))
  const added = new Set(skills.map((skill) => skill.name).filter((name) => !known.has(name))).size
  if (added > 0 && known.size + added > maxAccountSkills) {
    throw invalidInput(
      `The account has ${known.size} skills; at most ${maxAccountSkills} are allowed. ${advice}`,
      field,
    )
  }
  return added
}

export function requireSkillLimit(account: AccountStore): Statement {
  return account.change.skills.requireAtMost(maxAccountSkills)
}

/** Returns skills as they will be stored: trimmed, each name once. Fails with `invalid_input`. */
export function checkSkills(skills: SkillInput[]): Required<SkillInput>[] {
  if (skills.length > maxSkills) {
    throw invalidInput(`At most ${maxSkills} skills are allowed.`, 'skills')
  }
  const byName = new Map<string, Required<SkillInput>>()
  for (const skill of skills) {
    const { name, description } = checkSkill(skill, 'skills', 'skills')
    if (!byName.has(name)) byName.set(name, { name, description })
  }
  return [...byName.values()]
}

/** Set in a result if invisible characters were removed from the input. */
export const sanitized = { sanitized: true } as const

export function areCleaned(skills: SkillInput[]): boolean {
  return skills.some(({ description = '' }) => cleanDescription(description) !== description)
}

export function cleanDescription(text: string): string | undefined {
  const description = wellFormed(text)
  return description === undefined ? undefined : withoutInvisible(description)
}

function checkSkill(skill: SkillInput, nameField: string, descriptionField: string): Required<SkillInput> {
  const name = wellFormed(skill.name)?.trim()
  const description = cleanDescription(skill.description ?? '')
  if (!name || !hasAtMost(name, maxNameLength)) {
    throw invalidInput(`The name of a skill must have 1 to ${maxNameLength} characters.`, nameField)
  }
  if (!isPlainName(name)) {
    throw invalidInput('The name of a skill must not contain control or invisible characters.', nameField)
  }
  if (description === undefined || !hasAtMost(description, maxDescriptionLength)) {
    throw invalidInput(
      `The description of a skill can have at most ${maxDescriptionLength} characters.`,
      descriptionField,
    )
  }
  return { name, description }
}
