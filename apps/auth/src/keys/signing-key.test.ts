import { expect, test } from 'vitest'
import { generateKeyPair, KeyState, type SigningKey, selectInstanceKeys } from './signing-key.ts'

const since = new Date('2026-11-20T09:00:00Z')
const createKey = (state: KeyState): SigningKey => ({
  ...generateKeyPair('ES256'),
  state,
  stateSince: since,
  createdAt: since,
})

test('selectInstanceKeys selects the signing key, and publishes it first, then the published and the retiring key', () => {
  const keys = KeyState.options.map(createKey)
  const [, published, signing, retiring] = keys
  expect(selectInstanceKeys(keys)).toEqual({
    signingKey: signing?.privateJwk,
    publishedKeys: [signing?.publicJwk, published?.publicJwk, retiring?.publicJwk],
  })
})

test('selectInstanceKeys publishes no private part', () => {
  const { publishedKeys } = selectInstanceKeys([createKey('signing'), createKey('published')])
  expect(JSON.stringify(publishedKeys)).not.toContain('"d"')
})

test('selectInstanceKeys names the command to run if there is no signing key with a private part', () => {
  const others = KeyState.options.filter((state) => state !== 'signing').map(createKey)
  const withoutPrivatePart = { ...createKey('signing'), privateJwk: undefined }
  for (const keys of [[], others, [withoutPrivatePart]])
    expect(() => selectInstanceKeys(keys)).toThrow('auth keys init')
})
