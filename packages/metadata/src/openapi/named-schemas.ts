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

/** The named schemas of the API description and of generated clients. A schema that is used more than once belongs here. */
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

/** The base of each schema that extends another. The API description has the schema's own members, and a reference to the base. */
const BASE_NAMES: Partial<Record<SchemaName, SchemaName>> = {
  RegisteredAgent: 'AgentRegistration',
  RegisteredKeyAgent: 'AgentRegistration',
  AgentDescription: 'AgentRegistration',
  ReplacedAgentKeys: 'AgentDescription',
  CompletedClaim: 'RenewedAssertion',
  GuideSource: 'PassageSource',
  AgentProblem: 'Problem',
}
type SchemaName = keyof typeof NAMED_SCHEMAS

const BASE_BY_SCHEMA: ReadonlyMap<unknown, SchemaName> = new Map(
  Object.entries(BASE_NAMES).map(([name, base]) => [NAMED_SCHEMAS[name as SchemaName], base]),
)

/** The formats for which zod adds a redundant pattern. */
const FORMATS_WITH_PATTERN: ReadonlySet<unknown> = new Set(['date', 'date-time', 'uuid'])

/**
 * Shortens a schema: removes keywords that clients do not need, and replaces inherited members with a reference to the base.
 */
export const shortenSchema: ZodOpenApiOverride = ({ zodSchema, jsonSchema, io }) => {
  // Clients must accept unknown members, because a later version may add members to a response.
  if (io === 'output' || isEmpty(jsonSchema.additionalProperties)) delete jsonSchema.additionalProperties
  if (FORMATS_WITH_PATTERN.has(jsonSchema.format)) delete jsonSchema.pattern
  if (jsonSchema.minimum === Number.MIN_SAFE_INTEGER) delete jsonSchema.minimum
  if (jsonSchema.maximum === Number.MAX_SAFE_INTEGER) delete jsonSchema.maximum
  // Only strings in responses have a minimum length of 1 and no maximum. Clients need not know that these are never empty.
  if (jsonSchema.minLength === 1 && jsonSchema.maxLength === undefined) delete jsonSchema.minLength
  if (zodSchema === AnswerExplanation) acceptAnyMembers(jsonSchema)
  if (zodSchema === AgentKeySet) jsonSchema.properties = { keys: PUBLIC_KEYS }
  const baseName = BASE_BY_SCHEMA.get(zodSchema)
  if (baseName) extendBase(zodSchema, jsonSchema, baseName)
}

/** The schema of a registration's keys, which have the same form as in the request. */
const PUBLIC_KEYS = {
  type: 'array' as const,
  items: { $ref: '#/components/schemas/PublicJwk' },
  description: 'Each with its `kid` and `alg`.',
}

const isEmpty = (schema: unknown) =>
  typeof schema === 'object' && schema !== null && Object.keys(schema).length === 0

/** Makes an object schema accept any members, and removes the members that it describes, because clients cannot rely on them. */
function acceptAnyMembers(jsonSchema: z.core.JSONSchema.BaseSchema): void {
  delete jsonSchema.properties
  delete jsonSchema.required
  jsonSchema.additionalProperties = true
}

/** Replaces the members that a schema inherits with a reference to its base. */
function extendBase(
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
