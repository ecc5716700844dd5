/** @jsxRuntime automatic */
/** @jsxImportSource hono/jsx */
/** Form fields for the data of a user. */
import { PasswordInput, TextInput } from '../../html/form.tsx'

/** The name that other users see. */
export function NameField(
  { label = 'Your name', value, error, isFocused }: {
    label?: string
    value: string
    error: string | undefined
    isFocused?: boolean
  },
) {
  return (
    <TextInput
      name='name'
      label={label}
      value={value}
      error={error}
      autocomplete='name'
      maxLength={80}
      isRequired
      isFocused={isFocused}
    />
  )
}

/**
 * A new password. On forms without an email field, `email` tells password managers which user it belongs to. Without
 * a password, users sign in by email link.
 */
export function NewPasswordField(
  { label = 'Password', email, error, isOptional }: {
    label?: string
    email?: string
    error: string | undefined
    isOptional?: boolean
  },
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
        error={error}
        autocomplete='new-password'
        isOptional={isOptional}
        isRequired={!isOptional}
      />
    </>
  )
}

/** The email address for sign-in. */
export function EmailField({ value, error, isFocused }: { value: string; error?: string; isFocused?: boolean }) {
  return (
    <TextInput
      name='email'
      type='email'
      label='Email'
      value={value}
      error={error}
      autocomplete='username'
      isRequired
      isFocused={isFocused}
    />
  )
}
