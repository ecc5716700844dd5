/** What an extension of A2A is, as cards declare it and as its address describes it. None of ours is required. */
import type { Config } from '../config.ts'

export interface Extension {
  /** In its URI. */
  name: string
  /** One sentence, in cards. */
  description: string
  /** What clients need to know, in cards. Numbers are texts: verifiers of signatures write numbers differently. */
  params?(config: Config): Record<string, unknown>
  /** The text at its URI, in Markdown. */
  text(uri: string, config: Config): string
}

/** The URI of an extension, which is also the address of its text. */
export function extensionUri({ baseUrl }: Config, { name }: Extension): string {
  return `${baseUrl}/a2a/ext/${name}/v1`
}

/** An extension as cards declare it. */
export function declared(config: Config, extension: Extension): Record<string, unknown> {
  const { description, params } = extension
  return {
    uri: extensionUri(config, extension),
    description,
    required: false,
    ...(params && { params: params(config) }),
  }
}
