/// How a user id becomes a place in the rollout (contract §11).
package enum BucketingAlgorithm: String, Sendable, CaseIterable {
    case murmur3, unleash, launchdarkly, growthbook, flagd, nginx
}
