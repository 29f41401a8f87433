import { expect, test } from 'vitest'
import { generateKeyPair, KeyState, type SigningKey, selectInstanceKeys } from './signing-key.ts'

const since = new Date('2026-11-20T09:00:00Z')
const key = (state: KeyState): SigningKey => ({
  ...generateKeyPair('ES256'),
  state,
  stateSince: since,
  createdAt: since,
})

test('signs with the signing key and publishes it first, with those before and after it', () => {
  const keys = KeyState.options.map(key)
  const [, published, signing, retiring] = keys
  expect(selectInstanceKeys(keys)).toEqual({
    signing: signing?.privateJwk,
    published: [signing?.publicJwk, published?.publicJwk, retiring?.publicJwk],
  })
})

test('publishes no private part', () => {
  expect(JSON.stringify(selectInstanceKeys([key('signing'), key('published')]).published)).not.toContain(
    '"d"',
  )
})

test('says what to run when no key is signing', () => {
  const others = KeyState.options.filter((state) => state !== 'signing').map(key)
  const destroyed = { ...key('signing'), privateJwk: undefined }
  for (const keys of [[], others, [destroyed]])
    expect(() => selectInstanceKeys(keys)).toThrow('auth keys init')
})
