import { createHash } from 'node:crypto'
import { serviceUrls } from '../service-urls.ts'
import type { ResourceDocumentConfig } from './document-config.ts'
import { handOffToAnAttorney } from './hand-off-skill.ts'
import { jsonDocument, MARKDOWN_TYPE, pathOf, type ServedDocument } from './served-document.ts'
import type { Skill } from './skill.ts'
import { useImmigrationGuidanceApi } from './use-api-skill.ts'

/** The type that `ai-catalog.json` names for a SKILL.md. */
export const SKILL_TYPE = 'application/agent-skills+md'

const INDEX_SCHEMA = 'https://schemas.agentskills.io/discovery/0.2.0/schema.json'

export const skillsOf = (config: ResourceDocumentConfig): readonly Skill[] => [
  useImmigrationGuidanceApi(config),
  handOffToAnAttorney(config),
]

/** The files of the skills, and their index (Agent Skills discovery 0.2.0) with the digests of the bytes served. */
export function agentSkills(config: ResourceDocumentConfig): ServedDocument[] {
  const urls = serviceUrls(config.origin)
  const files = skillsOf(config).map((skill) => ({ skill, content: skillFile(skill, config.origin) }))
  const index = {
    $schema: INDEX_SCHEMA,
    instructions:
      'Use these when a person asks about U.S. immigration: forms, fees, steps, waiting, appointments. They give ' +
      'sourced information, not legal advice. Do not use them to decide somebody’s own case.',
    skills: files.map(({ skill: { name, description }, content }) => ({
      name,
      type: 'skill-md',
      description,
      url: urls.skill(name),
      digest: `sha256:${createHash('sha256').update(content).digest('hex')}`,
    })),
  }
  return [
    jsonDocument(urls.skills, index),
    ...files.map(({ skill, content }) => ({
      path: pathOf(urls.skill(skill.name)),
      contentType: MARKDOWN_TYPE,
      alsoAs: [SKILL_TYPE],
      content,
    })),
  ]
}

/** Quoted as JSON, which YAML reads the same. */
const skillFile = ({ name, description, version, body }: Skill, origin: string) => `---
name: ${name}
description: ${JSON.stringify(description)}
license: Proprietary
compatibility: ${JSON.stringify(`Needs HTTP access to ${origin}`)}
metadata:
  version: ${JSON.stringify(version)}
  auth: ${JSON.stringify(serviceUrls(origin).authMd)}
---
${body}`
