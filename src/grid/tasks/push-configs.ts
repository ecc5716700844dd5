/** A task's webhooks: clients set, list and delete them. See docs/protocol/a2a.md, "Push notifications". */
import { callingAgent } from '../../auth/actor.ts'
import { GridError, invalidInput } from '../../errors.ts'
import { newId } from '../../lib/id.ts'
import { requireAllowedTarget } from '../../lib/outbound/egress-policy.ts'
import type { AccountStore } from '../../store/account.ts'
import { maxPushConfigs, type NewPushConfig, type PushConfig } from '../../store/account/push-configs.ts'
import { findTask } from './tasks.ts'

/** The credentials for requests to a webhook. */
export interface PushSecrets {
  /** Sent in the header `X-A2A-Notification-Token`. */
  token?: string
  /** Sent in the header `Authorization`, after the scheme. */
  credentials?: string
}

export interface PushConfigInput extends PushSecrets {
  /** The client's id for the webhook. Replaces an existing one with the same id. */
  configId: string
  url: string
  scheme?: string
  version: PushConfig['version']
  /** The path of the URL's field in the request, for errors. */
  urlField: string
}

/** Validates a webhook and encrypts its secrets. Fails with `invalid_input`, or `not_allowed` if unclaimed. */
export async function newPushConfig(account: AccountStore, input: PushConfigInput): Promise<NewPushConfig> {
  const { configId, scheme = null, token, credentials, version, urlField } = input
  // Anyone can sign up, so unclaimed agents must not make the grid send requests.
  if (!await account.read.profile.isClaimed()) {
    throw new GridError('not_allowed', 'Push notifications begin when the owner has claimed the agent. Poll the task.')
  }
  const url = requireAllowedTarget(input.url, account.deps.config, urlField)
  const id = newId()
  const config = { id, configId, url, scheme, version }
  // A scheme without credentials also needs the key ring, because the grid then signs a token.
  if (scheme === null && token === undefined) return config
  const secrets: PushSecrets = { token, credentials }
  return { ...config, secrets: await account.seal('task_push_configs', id, JSON.stringify(secrets)) }
}

/**
 * Registers a webhook for one of the calling agent's tasks. Fails with `task_not_found`, and as `newPushConfig` does.
 */
export async function setPushConfig(
  account: AccountStore,
  taskId: string,
  input: PushConfigInput,
  recipient?: string,
): Promise<PushConfig> {
  await findTask(account, taskId, recipient)
  const config = await newPushConfig(account, input)
  const { agentId } = callingAgent(account.actor)
  await account.write([account.change.pushConfigs.put(agentId, taskId, config, account.deps.now())])
  const stored = (await account.read.pushConfigs.ofTask(agentId, taskId)).find(({ configId }) =>
    configId === config.configId
  )
  if (!stored) throw tooMany()
  return stored
}

/** Returns all webhooks of one of the calling agent's tasks, oldest first. Fails with `task_not_found`. */
export async function listPushConfigs(
  account: AccountStore,
  taskId: string,
  recipient?: string,
): Promise<PushConfig[]> {
  await findTask(account, taskId, recipient)
  return await account.read.pushConfigs.ofTask(callingAgent(account.actor).agentId, taskId)
}

/** Deletes the webhook if it exists. Fails with `task_not_found`. */
export async function deletePushConfig(
  account: AccountStore,
  taskId: string,
  configId: string,
  recipient?: string,
): Promise<void> {
  await findTask(account, taskId, recipient)
  const { agentId } = callingAgent(account.actor)
  await account.write([account.change.pushConfigs.remove(agentId, taskId, configId)])
}

/** Fails with `invalid_input` if the task cannot have a webhook. */
export async function requirePlaceFor(
  account: AccountStore,
  taskId: string,
  { configId }: Pick<NewPushConfig, 'configId'>,
): Promise<void> {
  const others = (await listPushConfigs(account, taskId)).filter((config) => config.configId !== configId)
  if (others.length >= maxPushConfigs) throw tooMany()
}

function tooMany(): GridError {
  return invalidInput(`A task has at most ${maxPushConfigs} push configurations. Delete one.`, 'id')
}
