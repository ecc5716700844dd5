/** @jsxRuntime automatic */
/** @jsxImportSource hono/jsx */
/** Form fields for user data. */
import { Notice } from '../../html/components.tsx'
import { PasswordInput, TextInput } from '../../html/fields.tsx'
import type { PageDeps } from '../visit.ts'

export function NameField(
  { label = 'Your name', value, isFocused }: { label?: string; value?: string; isFocused?: boolean },
) {
  return (
    <TextInput
      name='name'
      label={label}
      value={value}
      autocomplete='name'
      maxLength={80}
      isRequired
      isFocused={isFocused}
    />
  )
}

/**
 * A field for a new password. On forms without an email field, `email` tells password managers whose password it is.
 * Users without a password sign in by email link.
 */
export function NewPasswordField(
  { label = 'Password', email, isOptional }: { label?: string; email?: string; isOptional?: boolean },
) {
  return (
    <>
      {email !== undefined && <input type='hidden' name='email' value={email} autocomplete='username' />}
      <PasswordInput
        name='password'
        label={label}
        hint={isOptional
          ? 'At least 10 characters. Without a password, you sign in by email link.'
          : 'At least 10 characters.'}
        autocomplete='new-password'
        isOptional={isOptional}
        isRequired={!isOptional}
      />
    </>
  )
}

export function EmailField({ value, isFocused }: { value?: string; isFocused?: boolean }) {
  return (
    <TextInput
      name='email'
      type='email'
      label='Email'
      value={value}
      autocomplete='username'
      isRequired
      isFocused={isFocused}
    />
  )
}

/** Says where to find email links on a grid that does not send email. */
export function EmailNote({ deps }: { deps: Pick<PageDeps, 'store'> }) {
  if (deps.store.deps.email.isConfigured) return null
  return <Notice>This grid does not send email. The operator can find the link in the server's log.</Notice>
}

/** Returns the label of a button that creates an email link. */
export function linkButton({ store }: Pick<PageDeps, 'store'>): string {
  return store.deps.email.isConfigured ? 'Email me a link' : 'Request a link'
}
