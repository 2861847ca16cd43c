import CLinux
import Configuration
import Rollout

extension RolloutController {
    /// What a reload would do to the rollout; nothing is changed.
    func outcome(ofReloading settings: Settings, remarks: [String]) -> ChangeOutcome {
        let machine = RolloutMachine(
            plan: settings.plan, configuredShadowHundredths: settings.shadow.shareHundredths)
        let next = machine.adopting(state, atMilliseconds: clinux_wall_milliseconds())
        return .done(
            before: rolloutJSON(state), after: rolloutJSON(next), warnings: remarks, generation: state.generation)
    }
}
