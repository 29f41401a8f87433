import { Ajv2020 } from 'ajv/dist/2020.js'
import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { TAGS } from '../operations/operation.ts'
import { OPERATIONS } from '../operations/operations.ts'
import { serviceUrls } from '../service-urls.ts'
import { createOpenApiDescription } from './openapi-description.ts'
import { createPartQuery, type DescribedApi, selectOpenApiPart } from './openapi-part.ts'

const URLS = serviceUrls('https://plainpath.example')
const WHOLE = JSON.parse(JSON.stringify(createOpenApiDescription(URLS))) as DescribedApi
const IDS = OPERATIONS.map(({ operationId }) => operationId)

const bytes = (document: unknown) => Buffer.byteLength(JSON.stringify(document))

const operationsIn = ({ paths }: DescribedApi) =>
  Object.entries(paths).flatMap(([path, item]) =>
    Object.entries(item).flatMap(([method, operation]) =>
      method === 'servers' ? [] : [{ place: `${method} ${path}`, ...operation }],
    ),
  )

/** Every component, as a reference names it. */
const defined = ({ components }: DescribedApi) =>
  Object.entries(components).flatMap(([kind, named]) =>
    Object.keys(named).map((name) => `#/components/${kind}/${name}`),
  )

/** Every reference in the text of a document, and every security scheme that is named. */
function references(document: DescribedApi): Set<string> {
  const text = JSON.stringify(document)
  return new Set([
    ...Array.from(text.matchAll(/"\$ref":"([^"]+)"/g), ([, target = '']) => target),
    ...operationsIn(document).flatMap(({ security }) =>
      security.flatMap((requirement) =>
        Object.keys(requirement).map((name) => `#/components/securitySchemes/${name}`),
      ),
    ),
  ])
}

describe('the part of any set of operations', () => {
  const parts = fc.uniqueArray(fc.constantFrom(...IDS), { minLength: 1 })
  const check = (property: (part: DescribedApi, ids: readonly string[]) => void) =>
    fc.assert(fc.property(parts, (ids) => property(selectOpenApiPart(WHOLE, new Set(ids)), ids)))

  test('has these operations, as the whole document has them', () => {
    check((part, ids) => {
      const expected = operationsIn(WHOLE).filter(({ operationId }) => ids.includes(operationId))
      expect(operationsIn(part)).toEqual(expected)
      expect(expected).toHaveLength(ids.length)
    })
  })

  test('has every component that it refers to, and no other', () => {
    check((part) => {
      expect(new Set(defined(part))).toEqual(references(part))
    })
  })

  test('has the tags of its operations, and no other', () => {
    check((part) => {
      const used = operationsIn(part).flatMap(({ tags }) => tags)
      expect(new Set(part.tags.map(({ name }) => name))).toEqual(new Set(used))
    })
  })

  test('keeps all other members, in their order, and the servers of paths outside of the API root', () => {
    check((part) => {
      const { tags, paths, components, ...others } = WHOLE
      expect(part).toMatchObject(others)
      expect(Object.keys(part)).toEqual(Object.keys({ ...WHOLE, tags, paths, components }))
      for (const [path, item] of Object.entries(part.paths))
        expect('servers' in item).toBe(path.startsWith('/oauth/'))
    })
  })

  test('does not depend on the order of the names', () => {
    check((part, ids) => {
      const reversed = selectOpenApiPart(WHOLE, new Set(ids.toReversed()))
      expect(JSON.stringify(reversed)).toBe(JSON.stringify(part))
    })
  })
})

test('the part with all operations is the whole document, which has no unused component', () => {
  expect(selectOpenApiPart(WHOLE, new Set(IDS))).toEqual(WHOLE)
})

test.for(IDS)('every schema in the part of %s compiles', (operationId) => {
  const part = selectOpenApiPart(WHOLE, new Set([operationId]))
  const ajv = new Ajv2020({ strict: false, validateFormats: false })
  ajv.addSchema({ ...part, $id: 'part' })
  for (const name of defined(part).filter((reference) => reference.includes('/schemas/')))
    expect(ajv.getSchema(`part${name}`), name).toBeTypeOf('function')
})

describe('an agent can afford', () => {
  test('the whole document', () => {
    expect(bytes(WHOLE)).toBeLessThanOrEqual(60_000)
  })

  test.for(['getGuide', 'createToken', 'registerAgent', 'joinWaitlist'])('the part of %s', (operationId) => {
    expect(createPartQuery(WHOLE, URLS).parse({ operation: operationId })?.length).toBeLessThanOrEqual(8_000)
  })
})

describe('the query', () => {
  const query = createPartQuery(WHOLE, URLS)
  const idsOf = (sent: unknown) =>
    operationsIn(JSON.parse(query.parse(sent) ?? '{}') as DescribedApi).map(({ operationId }) => operationId)

  test.for([[{}], [{ other: 'x' }]])('%j selects no part', ([sent]) => {
    expect(query.parse(sent)).toBeUndefined()
  })

  test.for([
    ['one operation', { operation: 'getGuide' }, ['getGuide']],
    ['several, separated by commas', { operation: 'getGuide,listGuides' }, ['listGuides', 'getGuide']],
    ['several parameters', { operation: ['getGuide', 'listGuides,getGuide'] }, ['listGuides', 'getGuide']],
    ['a tag', { tag: 'OAuth' }, ['createToken', 'revokeToken']],
    ['a tag and an operation', { tag: 'Health', operation: 'getGuide' }, ['getGuide', 'getHealth']],
    ['an operation, beside an unknown parameter', { operation: 'getHealth', x: '1' }, ['getHealth']],
  ] as const)('selects %s', ([, sent, ids]) => {
    expect(idsOf(sent)).toEqual(ids)
  })

  test.for([
    ['operation', 'getGuid', IDS],
    ['operation', '', IDS],
    ['operation', 'getGuide,', IDS],
    ['operation', 'getguide', IDS],
    ['operation', ['getGuide', 'toString'], IDS],
    ['tag', 'Guide', Object.keys(TAGS)],
  ] as const)('refuses %s=%j, and lists what is valid', ([name, sent, valid]) => {
    const { issues } = query.safeParse({ [name]: sent }).error ?? {}
    expect(issues?.map(({ path }) => path)).toEqual([[name]])
    for (const each of valid) expect(issues?.[0]?.message).toContain(each)
  })

  test('a part says briefly that it is one, and where the whole is', () => {
    const { info } = JSON.parse(query.parse({ operation: 'getHealth' }) ?? '') as {
      info: { description: string }
    }
    expect(info).toEqual({ ...WHOLE.info, description: expect.stringContaining(URLS.openapi) })
    expect(info.description.length).toBeLessThan(200)
  })
})
