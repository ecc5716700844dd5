/** Every mail of the grid: short, plain text, one link. Nothing in it was written by a stranger but an alias. Security A1. */
import type { Config } from '../../config.ts'
import type { OutgoingMail } from '../../deps.ts'

/** A mail without its address. */
export type Letter = Omit<OutgoingMail, 'to'>

type Place = Pick<Config, 'appUrl'>

/** Prove that an address is yours. */
export function verifyAddressMail(config: Place, link: string): Letter {
  return letter(config, 'verify_address', link, [
    `Please confirm that this is your mail address on ${hostOf(config)}:`,
    link,
    `The link works once, for 15 minutes. ${ignore}`,
  ])
}

/** Sign in without a password. */
export function signInMail(config: Place, link: string): Letter {
  return letter(config, 'sign_in', link, [
    `Open this link to sign in to ${hostOf(config)}:`,
    link,
    `The link works once, for 15 minutes. Do not hand it on: whoever opens it is signed in as you. ${ignore}`,
  ])
}

/** Choose a new password. */
export function passwordResetMail(config: Place, link: string): Letter {
  return letter(config, 'password_reset', link, [
    `Open this link to choose a new password for ${hostOf(config)}:`,
    link,
    `The link works once, for 15 minutes. ${ignore} Your password stays as it is until then.`,
  ])
}

/** Somebody invites you into an account. `invitedBy` is the verified address of a person. */
export function invitationMail(
  config: Place,
  link: string,
  invitation: { invitedBy: string; accountName: string; role: 'owner' | 'admin' | 'member' | 'viewer' },
): Letter {
  const { invitedBy, accountName, role } = invitation
  return letter(config, 'invitation', link, [
    `${invitedBy} invites you to the account "${plainName(accountName)}" on ${hostOf(config)}, as ${role}.`,
    'To accept, open this link and sign in with this mail address:',
    link,
    `The link works once, for 24 hours. If you do not know ${invitedBy}, ignore this mail and nothing happens.`,
  ])
}

/** Agents named you as their owner. Of what a signup says only the alias is told, to the one it was made for. */
export function claimMail(config: Place, link: string, alias?: string): Letter {
  const what = alias === undefined
    ? `Agents signed up on ${hostOf(config)} and named you as their owner.`
    : `The agent @${alias} signed up on ${hostOf(config)} and named you as its owner.`
  return letter(config, 'claim', link, [
    what,
    'To see what is there and choose what to keep, open this link:',
    link,
    'The link works once, for 24 hours; the page that it opens mails a new one. If you know nothing of this, ignore ' +
    'this mail: nobody gets access to anything of yours.',
  ])
}

/** Your password is another one now. No link: nobody should get used to following one from here. */
export function passwordChangedMail(config: Place): Letter {
  return letter(config, 'password_changed', undefined, [
    `Your password for ${hostOf(config)} was changed.`,
    `If it was not you, go to ${config.appUrl} and reset your password now.`,
  ])
}

/** Your address is another one now; goes to the one before. No link, for the same reason. */
export function addressChangedMail(config: Place): Letter {
  return letter(config, 'address_changed', undefined, [
    `Your user on ${hostOf(config)} has another mail address now. This one is not used any more.`,
    'If it was not you, tell whoever runs this grid, and the owners of your accounts.',
  ])
}

/** Constants: nothing that anybody typed comes into a subject. */
const subjects = {
  verify_address: 'Confirm your mail address',
  sign_in: 'Your sign-in link',
  password_reset: 'Choose a new password',
  invitation: 'You are invited to an account',
  claim: 'An agent named you as its owner',
  password_changed: 'Your password was changed',
  address_changed: 'Your mail address was changed',
} satisfies Record<OutgoingMail['kind'], string>

const ignore = 'If you did not ask for it, ignore this mail.'

function letter(config: Place, kind: OutgoingMail['kind'], link: string | undefined, paragraphs: string[]): Letter {
  const text = `${[...paragraphs, `agent-grid on ${hostOf(config)}`].join('\n\n')}\n`
  return { kind, subject: subjects[kind], text, link }
}

function hostOf({ appUrl }: Place): string {
  return new URL(appUrl).host
}

/** A name without anything that a mail program would make a link of, or a line of its own. */
function plainName(name: string): string {
  return name.normalize('NFKC').replace(/[^\p{L}\p{M}\p{N} &'_-]+/gu, ' ').replace(/\s+/g, ' ').trim().slice(0, 60)
}
