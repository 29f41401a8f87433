import {
  AddedSecret,
  AgentDescription,
  AgentKeySet,
  AgentRegistration,
  AgentSecret,
  AlreadyOnWaitlist,
  Answer,
  AnswerExplanation,
  AnswerRequest,
  BeginClaimRequest,
  BegunClaim,
  CompleteClaimRequest,
  CompletedClaim,
  ContactReceived,
  ContactRequest,
  ContactState,
  Guide,
  GuideHistoryLine,
  GuideList,
  GuideListing,
  GuideSlug,
  GuideSource,
  Health,
  Help,
  JoinedWaitlist,
  JoinWaitlistRequest,
  Link,
  PassageSource,
  RegisterAgentRequest,
  RegisteredAgent,
  RegisteredKeyAgent,
  RenewedAssertion,
  ReplaceAgentKeysRequest,
  ReplacedAgentKeys,
  Scope,
  SentJwk,
  TriggerId,
  TriggerList,
} from '@plainpath/domain'
import { z } from 'zod'
import type { ZodOpenApiOverride } from 'zod-openapi'
import { RevokeRequest, TokenRequest, TokenResponse } from '../operations/oauth.ts'
import { AgentProblem, OAuthError, Problem } from './errors.ts'

/**
 * The named schemas of the API description and of generated clients. A schema belongs here if it is used more than once, or if
 * generated clients should have a named type for it.
 */
export const NAMED_SCHEMAS = {
  Guide,
  GuideSlug,
  GuideHistoryLine,
  GuideList,
  GuideListing,
  GuideSource,
  PassageSource,
  AnswerRequest,
  Answer,
  TriggerList,
  TriggerId,
  Link,
  Help,
  JoinWaitlistRequest,
  JoinedWaitlist,
  AlreadyOnWaitlist,
  ContactRequest,
  ContactReceived,
  ContactState,
  RegisterAgentRequest,
  AgentRegistration,
  RegisteredAgent,
  RegisteredKeyAgent,
  AgentDescription,
  PublicJwk: SentJwk,
  AgentKeySet,
  AgentSecret,
  AddedSecret,
  ReplaceAgentKeysRequest,
  ReplacedAgentKeys,
  Scope,
  TokenRequest,
  TokenResponse,
  RevokeRequest,
  Health,
  Problem,
  AgentProblem,
  OAuthError,
  BeginClaimRequest,
  BegunClaim,
  CompleteClaimRequest,
  CompletedClaim,
  RenewedAssertion,
}

type SchemaName = keyof typeof NAMED_SCHEMAS

/**
 * The base of each schema that has all members of another. The API description gives such a schema its own members and `allOf`
 * with a reference to the base, whichever of the two is derived from the other in code.
 */
const BASE_NAMES: Partial<Record<SchemaName, SchemaName>> = {
  RegisteredAgent: 'AgentRegistration',
  RegisteredKeyAgent: 'AgentRegistration',
  AgentDescription: 'AgentRegistration',
  ReplacedAgentKeys: 'AgentDescription',
  CompletedClaim: 'RenewedAssertion',
  GuideSource: 'PassageSource',
  AgentProblem: 'Problem',
}

const BASE_NAME_BY_SCHEMA: ReadonlyMap<unknown, SchemaName> = new Map(
  Object.entries(BASE_NAMES).map(([name, base]) => [NAMED_SCHEMAS[name as SchemaName], base]),
)

/** The formats for which zod adds a redundant pattern. */
const FORMATS_WITH_PATTERN: ReadonlySet<unknown> = new Set(['date', 'date-time', 'uuid'])

/**
 * Simplifies a schema: removes keywords that clients do not need, and replaces inherited members with a reference to the base.
 * Two schemas are rewritten: `AnswerExplanation` accepts any members, and `AgentKeySet` refers to `PublicJwk`.
 */
export const simplifySchema: ZodOpenApiOverride = ({ zodSchema, jsonSchema, io }) => {
  // Clients must accept unknown members, because a later version may add members to a response. `{}` allows any, as the default
  // does.
  if (io === 'output' || isEmptyObject(jsonSchema.additionalProperties))
    delete jsonSchema.additionalProperties
  if (FORMATS_WITH_PATTERN.has(jsonSchema.format)) delete jsonSchema.pattern
  // zod adds these bounds to each `z.int()`.
  if (jsonSchema.minimum === Number.MIN_SAFE_INTEGER) delete jsonSchema.minimum
  if (jsonSchema.maximum === Number.MAX_SAFE_INTEGER) delete jsonSchema.maximum
  // Only strings in responses have a minimum length of 1 and no maximum. Clients do not need to know that these are never empty.
  if (jsonSchema.minLength === 1 && jsonSchema.maxLength === undefined) delete jsonSchema.minLength
  if (zodSchema === AnswerExplanation) acceptAnyMembers(jsonSchema)
  if (zodSchema === AgentKeySet) jsonSchema.properties = { keys: PUBLIC_KEYS }
  const baseName = BASE_NAME_BY_SCHEMA.get(zodSchema)
  if (baseName) referToBase(zodSchema, jsonSchema, baseName)
}

/** The schema of a registration's keys. Clients see the same schema for stored keys as for the keys that they send. */
const PUBLIC_KEYS = {
  type: 'array' as const,
  items: { $ref: '#/components/schemas/PublicJwk' },
  description: 'Each key has a `kid` and an `alg`.',
}

const isEmptyObject = (value: unknown) =>
  typeof value === 'object' && value !== null && Object.keys(value).length === 0

/** Makes an object schema accept any members, and removes the members that it describes, because clients cannot rely on them. */
function acceptAnyMembers(jsonSchema: z.core.JSONSchema.BaseSchema): void {
  delete jsonSchema.properties
  delete jsonSchema.required
  jsonSchema.additionalProperties = true
}

/**
 * Replaces the members that a schema inherits with a reference to its base. A member is inherited if both schemas have the
 * identical zod schema for it. Does nothing if one of the two is not an object schema.
 */
function referToBase(
  zodSchema: unknown,
  jsonSchema: z.core.JSONSchema.BaseSchema,
  baseName: SchemaName,
): void {
  const base: unknown = NAMED_SCHEMAS[baseName]
  if (!(zodSchema instanceof z.ZodObject) || !(base instanceof z.ZodObject)) return
  const inheritedNames = Object.keys(base.shape).filter((name) => zodSchema.shape[name] === base.shape[name])
  for (const name of inheritedNames) delete jsonSchema.properties?.[name]
  const ownRequired = jsonSchema.required?.filter((name) => !inheritedNames.includes(name)) ?? []
  jsonSchema.required = ownRequired
  jsonSchema.allOf = [{ $ref: `#/components/schemas/${baseName}` }]
}
