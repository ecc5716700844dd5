/** Texts about single sign-on for core pages. */
import type { Phrases } from '../../web/visit.ts'

export const notices = {
  linked: { code: 'provider-linked', text: 'Linked. From now on, you can sign in with it.' },
  unlinked: { code: 'provider-unlinked', text: 'Unlinked. It no longer signs you in.' },
  verified: { code: 'domain-verified', text: 'The record was found: the domain is verified.' },
  notVerified: {
    code: 'domain-not-verified',
    text: 'The record was not found. New records can take an hour to become visible.',
  },
  letIn: {
    code: 'member-let-in',
    text: 'They can sign in with the provider again, and join at their next sign-in.',
  },
}

export const phrases: Phrases = {
  sign_in_by_provider: ['Sign in', 'Signed in', 'with the provider of the account'],
  link_provider: ['Link', 'Linked', 'a provider of single sign-on to their user'],
  unlink_provider: ['Unlink', 'Unlinked', 'a provider of single sign-on from their user'],
  save_provider: ['Set up', 'Set up', 'single sign-on with {name}'],
  verify_domain: ['Look up', 'Looked up', 'the record of the domain'],
  lose_domain: ['Lose', 'Lost', 'the domain of single sign-on: its record was gone for a week'],
  require_provider: ['Change', 'Changed', 'whether members must use single sign-on'],
  remove_provider: ['Remove', 'Removed', 'single sign-on'],
  let_member_in: ['Let', 'Let', '{member} in again'],
}
